"""Writes the samples of the release benchmarks: python assets/make/benchmark_samples.py [--folder DIR] [NAME ...]

NAME is a module of samples/; without one all are written. The same versions of Pillow, PyAV and datasets write the same bytes.
"""

import argparse
import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from samples import Sample  # noqa: E402

MANY = 8
"""A data set with more configurations has the columns' types in its card."""

CARD = """---
configs:
{configs}---
# Sample in the schema of {hub_id}

**This is not the benchmark.** The questions and pictures are mm-eval's own, written by
`python assets/make/benchmark_samples.py {module}`, so that the tasks run with no network and no download. Scores on it
say nothing about scores on the benchmark.

{sizes}
"""


def modules() -> list[str]:
    """The names of the modules of samples/."""
    return sorted(path.stem for path in (HERE / "samples").glob("*.py") if not path.stem.startswith("_"))


def write(module: str, folder: Path) -> list[Path]:
    """Writes the samples of a module below the folder as the hub lays them out; the paths of their files."""
    from datasets import Dataset, Features

    found: list[Sample] = importlib.import_module(f"samples.{module}").samples()
    written = []
    for sample in found:
        target = folder / sample.hub_id / sample.config / f"{sample.split}-00000-of-00001.parquet"
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Dataset.from_list(sample.rows, features=Features(_stored(sample.features)))
        if _types_in_card([each for each in found if each.hub_id == sample.hub_id]):
            _write_without_types(made, target)
        elif sample.repeats or _stored(sample.features) != sample.features:
            _write_once(made, target, Features(sample.features).arrow_schema.metadata)
        else:
            made.to_parquet(target)
        written.append(target)
        for name, content in sample.files.items():
            beside = folder / sample.hub_id / name
            beside.parent.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(content)
            written.append(beside)
    for hub_id in dict.fromkeys(sample.hub_id for sample in found):
        own = [sample for sample in found if sample.hub_id == hub_id]
        (folder / hub_id / "README.md").write_text(_card(hub_id, module, own), encoding="utf-8")
    return written


def _types_in_card(samples: list[Sample]) -> bool:
    """Whether the card states the columns' types and the files do not: with many small files that halves the bytes."""
    return len({sample.config for sample in samples}) > MANY


def _write_without_types(made: Any, target: Path) -> None:
    """Writes a table without the types of `datasets` and without statistics of columns."""
    from pyarrow import parquet

    table = made.with_format("arrow")[:].replace_schema_metadata(None)
    parquet.write_table(table, target, store_schema=False, write_statistics=False, use_dictionary=False)


def _write_once(made: Any, target: Path, types: dict[bytes, bytes]) -> None:
    """Writes a table in which equal cells are one; `datasets` itself writes each picture anew. types: of the columns."""
    from pyarrow import parquet

    table = made.with_format("arrow")[:].replace_schema_metadata(types)
    parquet.write_table(table, target, write_statistics=False)


def _stored(features: dict[str, Any]) -> dict[str, Any]:
    """The columns as they are stored. `datasets` takes the bytes of a sound, but only where torchcodec is installed."""
    from datasets import Audio, Value

    kept = {"bytes": Value("binary"), "path": Value("string")}
    return {name: kept if isinstance(feature, Audio) else feature for name, feature in features.items()}


def _card(hub_id: str, module: str, samples: list[Sample]) -> str:
    """The dataset card: which files each configuration has, and how many rows."""
    lines, sizes = "", []
    for config in dict.fromkeys(sample.config for sample in samples):
        lines += f"- config_name: {config!r}\n  data_files:\n"
        for sample in (each for each in samples if each.config == config):
            lines += f"  - split: {sample.split}\n    path: '{config}/{sample.split}-*'\n"
            sizes.append(f"- {config}, {sample.split}: {len(sample.rows)} rows")
    if _types_in_card(samples):
        import yaml
        from datasets import Features

        infos = [
            {"config_name": config, "features": Features(features)._to_yaml_list()}
            for config, features in {sample.config: sample.features for sample in samples}.items()
        ]
        lines += yaml.safe_dump({"dataset_info": infos}, sort_keys=False)
    return CARD.format(configs=lines, hub_id=hub_id, module=module, sizes="\n".join(sizes))


def main(names: Iterable[str], folder: Path) -> None:
    for name in names:
        for path in write(name, folder):
            print(f"{path}: {path.stat().st_size / 1000:.1f} kB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(modules()))
    parser.add_argument("--folder", type=Path, default=HERE.parent / "data")
    args = parser.parse_args()
    main(args.names or modules(), args.folder)
