"""From names to checked configs: YAML files, groups, tags and formats. Nothing is imported to list or load them."""
