"""What runs inside the sandbox, with the packages of the sandbox alone. Nothing else of mm-eval is there."""
