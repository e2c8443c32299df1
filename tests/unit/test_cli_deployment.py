"""How the command line finds what is deployed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.stub import Stubber

from ops.deployment import Deployment, DeploymentError, RegionDeployment


@pytest.fixture
def region(monkeypatch: pytest.MonkeyPatch) -> RegionDeployment:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    return RegionDeployment("us", "us-east-1")


@pytest.fixture
def cloudformation(region: RegionDeployment) -> Iterator[Stubber]:
    with Stubber(region.cloudformation) as stub:
        yield stub


def a_stack(**outputs: str) -> Any:
    return {
        "Stacks": [
            {
                "StackName": "DigestDelivery-us",
                "StackStatus": "CREATE_COMPLETE",
                "CreationTime": "2026-11-29T20:00:00Z",
                "Outputs": [{"OutputKey": name, "OutputValue": value} for name, value in outputs.items()],
            }
        ]
    }


def test_tables_and_shards_are_found_by_asking_for_the_stack_once(
    region: RegionDeployment, cloudformation: Stubber
) -> None:
    cloudformation.add_response(
        "describe_stacks", a_stack(CustomersTable="people", Shards="8"), {"StackName": "DigestDelivery-us"}
    )
    assert (region.customers_table, region.shards) == ("people", 8)
    cloudformation.assert_no_pending_responses()


def test_an_output_that_is_missing_is_named(region: RegionDeployment, cloudformation: Stubber) -> None:
    cloudformation.add_response("describe_stacks", a_stack(CustomersTable="people"))
    with pytest.raises(DeploymentError, match="DigestDelivery-us in us-east-1 has no output Shards: it is still being"):
        _ = region.shards


def test_a_region_that_is_not_deployed_says_how_to_deploy_it(region: RegionDeployment, cloudformation: Stubber) -> None:
    cloudformation.add_client_error("describe_stacks", "ValidationError", "Stack does not exist")
    with pytest.raises(
        DeploymentError, match="DigestDelivery-us is not deployed in us-east-1: deploy it with `npx cdk"
    ):
        _ = region.outputs


def test_a_region_that_is_not_deployed_holds_nobody(region: RegionDeployment, cloudformation: Stubber) -> None:
    cloudformation.add_client_error("describe_stacks", "ValidationError", "Stack does not exist")
    there = RegionDeployment("eu", "eu-west-1", outputs={"CustomersTable": "people"})
    deployment = Deployment([region, there])
    assert list(deployment.others("eu")) == []
    assert list(deployment.others("us")) == [there]


def test_the_settings_name_the_regions() -> None:
    assert {one.data_region: one.aws_region for one in Deployment.load()} == {"us": "us-east-1", "eu": "eu-west-1"}
