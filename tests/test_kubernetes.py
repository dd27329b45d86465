"""The manifests of `deploy/kubernetes`: valid by Kubernetes' own schemas, closed where they must be, and calling what
there is. No cluster is needed: the schemas come with `kubernetes-validate`."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from typer.testing import CliRunner

from webemu.api.services.own_hosts import is_own_host
from webemu.emulator.cli import app
from webemu.emulator.config import Config, load_config

FOLDER = Path(__file__).parent.parent / "deploy" / "kubernetes"
VERSIONS = ("1.30", "1.33", "1.37")
Document = dict[str, Any]


def documents() -> dict[str, Document]:
    """Return the documents by kind and name, without those that only kustomize reads."""
    read = [one for path in FOLDER.glob("*.yaml") for one in yaml.safe_load_all(path.read_text())]
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in read if one["kind"] != "Kustomization"}


ALL = documents()
SERVERS, INGEST = ALL["StatefulSet/webemu"], ALL["Job/ingest"]


@pytest.fixture(params=[SERVERS, INGEST], ids=["servers", "ingest"])
def pod(request: pytest.FixtureRequest) -> Document:
    template: Document = request.param["spec"]["template"]["spec"]
    return template


def containers(pod: Document) -> list[Document]:
    return [*pod.get("initContainers", []), *pod["containers"]]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ALL)
def test_every_document_is_valid(name: str, version: str) -> None:
    assert kubernetes_validate.validate(ALL[name], version, strict=True) == version


@pytest.mark.parametrize("name", ALL)
def test_the_schemas_see_a_field_that_is_not_there(name: str) -> None:
    top = {**ALL[name], "sepc": {}}
    inner = {**ALL[name], "metadata": {**ALL[name]["metadata"], "nmae": "x"}}
    for wrong in (top, inner):
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


def test_the_schemas_see_a_field_deep_inside_and_a_wrong_value() -> None:
    for security_context in ({"readOnlyRootFileSystem": True}, {"runAsUser": "webemu"}):
        wrong = yaml.safe_load(yaml.safe_dump(SERVERS))
        wrong["spec"]["template"]["spec"]["containers"][0]["securityContext"] = security_context
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


def test_kustomize_is_told_of_every_file() -> None:
    kustomization = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    assert {*kustomization["resources"], "kustomization.yaml"} == {path.name for path in FOLDER.iterdir()}
    namespaced = {one["metadata"].get("namespace") for name, one in ALL.items() if not name.startswith("Namespace/")}
    assert namespaced == {kustomization["namespace"]} == {ALL["Namespace/webemu"]["metadata"]["name"]}


def test_pods_may_do_nothing_they_need_not(pod: Document) -> None:
    """Pods meet Kubernetes' Pod Security Standard `restricted`, which the namespace enforces, with a read-only root."""
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    for container in containers(pod):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"].keys() == {"memory"}
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert ALL["Namespace/webemu"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_user_is_that_of_the_image() -> None:
    assert "--uid 10001 webemu" in (FOLDER.parents[1] / "Dockerfile").read_text()


def test_no_variable_of_a_service_is_taken_for_a_setting(pod: Document) -> None:
    assert pod["enableServiceLinks"] is False


def test_pods_call_commands_with_options_and_settings_there_are(pod: Document) -> None:
    for container in containers(pod):
        name, *words = container["args"]
        help_text = CliRunner().invoke(app, [name, "--help"]).output
        assert [word for word in words if word.startswith("--") and word not in help_text] == []
        environment = {one["name"]: one["value"] for one in container["env"]}
        assert environment.keys() <= {f"WEBEMU_{field.name.upper()}" for field in fields(Config)}
        mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
        config = load_config({}, environment)
        assert str(config.root) in mounted
        assert config.state == "none" or config.state in mounted
        assert "/tmp" in mounted, "the root is read-only"


def test_servers_read_the_volume_and_the_job_writes_it() -> None:
    (server,) = SERVERS["spec"]["template"]["spec"]["containers"]
    assert [mount["mountPath"] for mount in server["volumeMounts"] if mount.get("readOnly")] == ["/data"]
    claims = [
        volume["persistentVolumeClaim"]["claimName"]
        for workload in (SERVERS, INGEST)
        for volume in workload["spec"]["template"]["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    ]
    assert claims == ["data", "data"]
    assert "PersistentVolumeClaim/data" in ALL
    claim_names = [claim["metadata"]["name"] for claim in SERVERS["spec"]["volumeClaimTemplates"]]
    assert {mount["name"] for mount in server["volumeMounts"]} == {"data", "tmp", *claim_names}
    assert INGEST["spec"]["template"]["spec"]["initContainers"][0]["args"] == ["ca"]


def test_probes_ask_for_health_and_wait_for_the_first_snapshot() -> None:
    (server,) = SERVERS["spec"]["template"]["spec"]["containers"]
    (port,) = server["ports"]
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert server[name]["httpGet"] == {"path": "/health", "port": port["name"]}
    assert port["containerPort"] == Config().port
    startup = server["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 86_400
    grace = SERVERS["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace >= 5 + 15, "what comes before SIGTERM, and what the server takes to drain"


def test_selectors_find_the_servers_and_not_the_job() -> None:
    labels = SERVERS["spec"]["template"]["metadata"]["labels"]
    selectors = [
        SERVERS["spec"]["selector"]["matchLabels"],
        ALL["PodDisruptionBudget/webemu"]["spec"]["selector"]["matchLabels"],
        ALL["NetworkPolicy/asked"]["spec"]["podSelector"]["matchLabels"],
        *(ALL[f"Service/{name}"]["spec"]["selector"] for name in ("webemu", "copies")),
    ]
    assert all(selector.items() <= labels.items() for selector in selectors)
    ingest_labels = INGEST["spec"]["template"]["metadata"]["labels"]
    assert not any(selector.items() <= ingest_labels.items() for selector in selectors)
    assert SERVERS["spec"]["serviceName"] == "copies"
    assert ALL["Service/copies"]["spec"]["clusterIP"] == "None"


def test_nothing_leaves_the_namespace() -> None:
    closed = ALL["NetworkPolicy/closed"]["spec"]
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    assert not any("egress" in one["spec"] for name, one in ALL.items() if name.startswith("NetworkPolicy/"))


def test_a_server_knows_itself_by_the_names_that_services_have() -> None:
    for name in ("webemu.webemu.svc", "webemu-0.copies.webemu.svc", "webemu-2.copies.webemu.svc.cluster.local"):
        assert is_own_host(name)
    for name in ("svc", "svc.example", "cluster.local", "a.svc.example"):
        assert not is_own_host(name)
