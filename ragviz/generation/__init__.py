"""Questions made: planned by quotas, without a model or by one, verified by other calls than wrote them."""
