"""A secret with keys of ours: the first is drawn when the stack is made, later ones are added by hand beside it."""

from __future__ import annotations

from typing import cast

from aws_cdk import Acknowledgment, Validations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from stacks.deployment import Deployment
from stacks.function import allow

_FIRST = "0"  # as functions/core/keyring.py calls it
_LETTERS = 64


class KeyRing(secretsmanager.Secret):
    """`{"0": "<64 letters and digits>"}`. CloudFormation draws it once, and leaves alone what is added later."""

    def __init__(self, scope: Construct, construct_id: str, deployment: Deployment, *, description: str) -> None:
        super().__init__(
            scope,
            construct_id,
            description=description,
            generate_secret_string=secretsmanager.SecretStringGenerator(
                secret_string_template="{}",  # noqa: S106 - it is drawn into this
                generate_string_key=_FIRST,
                password_length=_LETTERS,
                exclude_punctuation=True,
            ),
            # Whatever an old key signed or hashed is good only as long as the key is there.
            removal_policy=deployment.removal_policy,
        )
        Validations.of(self).acknowledge(
            Acknowledgment(
                id="AwsSolutions-SMG4",
                reason="A new key is added beside the old ones, by a person: replacing them would end every link sent.",
            )
        )

    @property
    def arn(self) -> str:
        """Its ARN, which on AWS a reference to it is as well; in the local emulator that is the name."""
        return cast("secretsmanager.CfnSecret", self.node.default_child).attr_id

    def may_be_read(self) -> iam.PolicyStatement:
        """The right to read this secret, and no other."""
        return allow(["secretsmanager:GetSecretValue"], self.arn)
