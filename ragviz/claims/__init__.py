"""What documents say: sections and structure, and claims with the questions that they answer, without a model."""
