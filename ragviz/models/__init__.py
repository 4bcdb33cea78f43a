"""The only sockets to models: chat client, embedders, prices."""
