"""Everything that talks to the outside: DynamoDB, SQS, providers, the clock, the environment."""
