"""Questions made: planned by quotas, from claims or by a model, verified by other calls than wrote them."""
