"""Parts of the documents that are drawn from the code, so that they cannot say something else."""
