"""What every construct of a region needs to know of the deployment it is part of."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import RemovalPolicy
from aws_cdk import aws_lambda as lambda_

from stacks.settings import Region, Target


@dataclass(frozen=True)
class Deployment:
    target: Target
    data_region: str
    region: Region
    code: lambda_.Code

    @property
    def removal_policy(self) -> RemovalPolicy:
        """What becomes of stored things when the stack goes."""
        return RemovalPolicy.RETAIN if self.region.deletion_protection else RemovalPolicy.DESTROY
