"""Files to documents, and documents in corpora: the only folder that knows file formats."""
