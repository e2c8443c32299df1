"""The whole system on one machine: an AWS emulator, deployed to by the CDK."""
