"""The container files: valid by the Compose specification, closed where they must be, and calling what there is.

No engine is needed. `data/compose_spec.json` is the Compose specification's own schema as docker-compose 1.29.2 carries
it (Apache License 2.0).
"""

import json
import re
import tomllib
from dataclasses import fields
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from typer.testing import CliRunner

from webemu.api.proxy.command import CA_VARIABLES
from webemu.api.services.own_hosts import is_own_host
from webemu.emulator.cli import COMMANDS, app
from webemu.emulator.config import Config

HOUSE = Path(__file__).parent.parent
VALIDATOR = Draft7Validator(json.loads((Path(__file__).parent / "data" / "compose_spec.json").read_text()))
ENVIRONMENT = {f"WEBEMU_{field.name.upper()}" for field in fields(Config)} | {"WEBEMU_SERVER", *CA_VARIABLES}


def read(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((HOUSE / name).read_text())
    return loaded


@pytest.fixture
def compose() -> dict[str, Any]:
    return read("docker-compose.yml")


@pytest.fixture
def copies() -> dict[str, Any]:
    """Several servers behind a balancer."""
    return read("deploy/compose.yml")


both = pytest.mark.parametrize("name", ["docker-compose.yml", "deploy/compose.yml"])


@pytest.fixture
def dockerfile() -> dict[str, list[str]]:
    """Return the values of each instruction, by its name."""
    instructions: dict[str, list[str]] = {}
    text = (HOUSE / "Dockerfile").read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.partition(" ")
            instructions.setdefault(name, []).append(value.strip())
    return instructions


@both
def test_the_compose_file_is_valid(name: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(read(name))] == []


def test_the_schema_sees_a_mistake(compose: dict[str, Any]) -> None:
    compose["services"]["agent"]["netwroks"] = {}
    compose["networks"]["offline"]["internal"] = "perhaps"
    assert len(list(VALIDATOR.iter_errors(compose))) == 2


def test_the_agent_reaches_nothing_but_the_server(compose: dict[str, Any]) -> None:
    agent = compose["services"]["agent"]
    assert "network_mode" not in agent
    assert "ports" not in agent
    assert all(compose["networks"][name].get("internal") for name in agent["networks"])
    offline_services = [
        name for name, service in compose["services"].items() if service.get("networks", {}).keys() & {"offline"}
    ]
    assert compose["services"]["trust"]["network_mode"] == "none"
    assert offline_services == ["webemu", "agent"]


def test_the_port_is_published_to_this_machine_only(compose: dict[str, Any]) -> None:
    server = compose["services"]["webemu"]
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])
    assert any(not (compose["networks"][name] or {}).get("internal") for name in server["networks"])


def test_the_agents_only_resolver_is_the_server(compose: dict[str, Any]) -> None:
    mounted = next(name for name in compose["services"]["agent"]["volumes"] if ":/etc/resolv.conf" in name)
    source, _, mode = mounted.split(":")
    server = compose["services"]["webemu"]["networks"]["offline"]["ipv4_address"]
    assert re.findall(r"^\w+ .*", (HOUSE / source).read_text(), re.MULTILINE) == [f"nameserver {server}"]
    assert mode == "ro"
    subnet = ip_network(compose["networks"]["offline"]["ipam"]["config"][0]["subnet"])
    assert ip_address(server) in subnet
    assert ip_address(server) != subnet[1], "the engine takes the first one for itself"


def test_the_server_answers_where_names_lead(compose: dict[str, Any], dockerfile: dict[str, list[str]]) -> None:
    server = compose["services"]["webemu"]
    config = Config(
        web_ports=server["environment"]["WEBEMU_WEB_PORTS"], dns_port=int(server["environment"]["WEBEMU_DNS_PORT"])
    )
    assert (config.further_ports, config.dns_port) == ((80, 443), 53)
    assert server["sysctls"]["net.ipv4.ip_unprivileged_port_start"] <= 53, "the image's user is not root"
    assert "0.0.0.0" in json.loads(dockerfile["CMD"][0])


def test_the_agent_has_the_certificate_and_no_key(compose: dict[str, Any], tmp_path: Path) -> None:
    services = compose["services"]
    assert services["webemu"]["depends_on"]["trust"]["condition"] == "service_completed_successfully"
    command, _, exported = services["trust"]["command"]
    place = tmp_path / Path(exported).name
    result = CliRunner().invoke(app, [command, "--root", str(tmp_path / "data"), "--export", str(place)])
    assert result.exit_code == 0
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["ca.pem"]
    assert "PRIVATE" not in place.read_text()
    assert place.stat().st_mode & 0o044 == 0o044, "readable by an agent that runs as somebody else"
    agent = services["agent"]
    assert {name for name, value in agent["environment"].items() if value == exported} == set(CA_VARIABLES)
    assert [name for name in agent["volumes"] if not name.endswith(":ro") or name.startswith("data:")] == []


@both
def test_services_call_commands_and_settings_there_are(name: str) -> None:
    own_services = [service for service in read(name)["services"].values() if service["image"] == "webemu"]
    for service in own_services:
        assert "entrypoint" in service or service.get("command", ["serve"])[0] in COMMANDS
        assert service.get("environment", {}).keys() <= ENVIRONMENT
        assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"])


def test_the_image_is_what_the_project_can_build(dockerfile: dict[str, list[str]]) -> None:
    assert dockerfile["USER"] == ["webemu"]
    assert dockerfile["VOLUME"] == ["/data"]
    assert "/health" in dockerfile["HEALTHCHECK"][0]
    install = next(line for line in dockerfile["RUN"] if "pip install" in line)
    assert "-c /wheels/constraints.txt" in install
    assert (HOUSE / "constraints.txt").exists()
    extras = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert "[server]" in install
    assert "server" in extras


def test_the_image_starts_with_flags_there_are(dockerfile: dict[str, list[str]]) -> None:
    assert json.loads(dockerfile["ENTRYPOINT"][0]) == ["webemu"]
    name, *flags = json.loads(dockerfile["CMD"][0])
    help_text = CliRunner().invoke(app, [name, "--help"]).output
    assert [flag for flag in flags if flag.startswith("--") and flag not in help_text] == []


def servers(copies: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: service for name, service in copies["services"].items() if name.startswith("copy-")}


def test_the_balancer_knows_every_copy_and_waits_for_it(copies: dict[str, Any]) -> None:
    balancer = copies["services"]["balancer"]
    balancer_settings = (HOUSE / "deploy" / "haproxy.cfg").read_text()
    places = {name: place for name, place in balancer["environment"].items() if name.startswith("WEBEMU_COPY_")}
    assert set(re.findall(r"\$\{(\w+)\}", balancer_settings)) == {"WEBEMU_BIND", *places}
    addresses = {service["networks"]["copies"]["ipv4_address"] for service in servers(copies).values()}
    assert {f"{address}:8800" for address in addresses} == set(places.values())
    assert len(addresses) == 3
    subnet = ip_network(copies["networks"]["copies"]["ipam"]["config"][0]["subnet"])
    assert all(ip_address(address) in subnet and ip_address(address) != subnet[1] for address in addresses)
    assert set(balancer["depends_on"]) == set(servers(copies))
    assert {one["condition"] for one in balancer["depends_on"].values()} == {"service_healthy"}
    mounted = {source: target for source, target, _ in (name.split(":") for name in balancer["volumes"])}
    assert (HOUSE / "deploy" / "haproxy.cfg").samefile(HOUSE / "deploy" / next(iter(mounted)))


def test_only_the_balancer_is_reached_from_outside_and_from_this_machine_alone(copies: dict[str, Any]) -> None:
    assert copies["networks"]["copies"]["internal"] is True
    published = [name for name, service in copies["services"].items() if "ports" in service]
    assert published == ["balancer"]
    assert all(port.startswith("127.0.0.1:") for port in copies["services"]["balancer"]["ports"])
    for name, service in copies["services"].items():
        assert name == "balancer" or service.get("network_mode") == "none" or set(service["networks"]) == {"copies"}


def test_the_balancer_has_the_name_that_a_server_knows_itself_by(copies: dict[str, Any]) -> None:
    assert all(is_own_host(alias) for alias in copies["services"]["balancer"]["networks"]["copies"]["aliases"])
    assert not is_own_host("balancer")


def test_copies_write_nothing_but_what_sessions_did(copies: dict[str, Any], dockerfile: dict[str, list[str]]) -> None:
    for service in servers(copies).values():
        assert service["read_only"] is True
        modes = {name.split(":")[1]: name.endswith(":ro") for name in service["volumes"]}
        assert modes == {"/data": True, "/state": False, "/crawl": True}
        assert service["environment"]["WEBEMU_STATE"] == "/state"
    assert any("mkdir" in line and "chown webemu /data /trust /state" in line for line in dockerfile["RUN"])


def test_copies_share_a_ledger_so_they_see_each_others_processes(copies: dict[str, Any]) -> None:
    services = copies["services"]
    assert {service["pid"] for service in servers(copies).values()} == {"service:pids"}
    assert services["pids"]["init"] is True
    assert services["pids"]["healthcheck"] == {"disable": True}
    for service in servers(copies).values():
        assert service["depends_on"]["pids"]["condition"] == "service_started"
        assert service["depends_on"]["trust"]["condition"] == "service_completed_successfully"


def test_the_image_has_the_compiled_reader(dockerfile: dict[str, list[str]]) -> None:
    build, image = dockerfile["FROM"]
    assert build == "python:3.11 AS build"
    assert image == "python:3.11-slim"
    assert dockerfile["COPY"][-1].startswith("--from=build ")
    assert any("python -c 'import webemu.index._reading'" in line for line in dockerfile["RUN"]), (
        "a slow image must not be built"
    )
