"""Alembic's environment: it runs revisions on the connection that `store.store` hands over."""

from alembic import context

from ragviz.store import schema

context.configure(
    connection=context.config.attributes["connection"], target_metadata=schema.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
