"""The first schema."""

from alembic import op

from ragviz.store import schema

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create all tables as `schema` has them: from the first release on, they are written out here."""
    schema.metadata.create_all(op.get_bind(), checkfirst=False)
    # Two common models, when this was written: they change, and a person corrects them.
    common = [{"model": "gpt-4o", "input": 2.5, "output": 10.0}, {"model": "gpt-4o-mini", "input": 0.15, "output": 0.6}]
    op.bulk_insert(schema.prices, common)
