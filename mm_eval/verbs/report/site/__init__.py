"""Run folders as pages for a web server: samples in parts, pictures in full size. `bundle` writes them, `server` serves them."""
