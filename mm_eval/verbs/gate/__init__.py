"""Whether a model may be released: what it loses against another one, held against a policy."""
