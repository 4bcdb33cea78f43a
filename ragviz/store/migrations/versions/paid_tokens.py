"""Payments with their tokens; those of calls that were paid before are not known, and count as none."""

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    """Add the columns."""
    for name in ("prompt_tokens", "completion_tokens"):
        op.add_column("payments", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
