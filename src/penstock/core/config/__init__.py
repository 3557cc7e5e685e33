"""What a connector's configuration may say, and the judgement on it: definitions, plugins' names, validation."""
