setup:   ; pip install -c constraints.txt -e '.[dev]'
test:    ; pytest -n auto --dist loadfile
check:   ; ruff check . && ruff format --check . && mypy
docs:    ; mkdocs build --strict
.PHONY:  setup test check docs
