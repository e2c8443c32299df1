"""CDK app: one stack for each data region that cdk.json names."""

from __future__ import annotations

import sys

try:
    from aws_cdk import App, Validations
    from cdk_nag import AwsSolutionsChecks
except ModuleNotFoundError as missing:
    sys.exit(f"{missing.name} is not installed for {sys.executable}: run `make setup`")

from stacks.bundling import NotPreparedError
from stacks.digest_stack import DigestStack
from stacks.settings import Settings, SettingsError, load_settings


def build(app: App, settings: Settings) -> None:
    """Add every region's stack to the app, held against the AwsSolutions rules."""
    for data_region, region in settings.regions.items():
        DigestStack(app, target=settings.target, data_region=data_region, region=region)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app, verbose=True))


def main() -> None:
    app = App(analytics_reporting=False)
    try:
        build(app, load_settings(app.node.get_all_context()))
    except SettingsError as error:
        sys.exit(f"The settings do not fit:\n{error}")
    except NotPreparedError as error:
        sys.exit(str(error))
    _synthesise(app)


def _synthesise(app: App) -> None:
    """Write the templates, or end with what the rules found: the CDK has printed it by then."""
    try:
        app.synth()
    except RuntimeError as error:
        if not str(error).startswith("ValidationFailed"):
            raise
        sys.exit(str(error))


if __name__ == "__main__":
    main()
