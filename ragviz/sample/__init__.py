"""The sample corpus this project wrote: documents, and questions with quoted evidence."""
