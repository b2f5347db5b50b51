"""``providers``: what can be mounted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.cli.session import Session
from moorage.config import ProviderOptions
from moorage.errors import ConfigError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


def providers(session: Session) -> None:
    """List the kinds of storage that can be mounted, with their options, and the plug-ins that are broken."""
    output = session.output
    for scheme, spec in sorted(session.registry.providers.items()):
        try:
            fields = _fields(session.registry.options(scheme))
        except ConfigError as error:
            output.record(
                {"scheme": scheme, "summary": spec.summary, "options": None, "error": error.message},
                f"{scheme}: {error.message}",
                "red",
            )
            output.failed = True
            continue
        options = [_option(name, field) for name, field in fields.items()]
        output.record({"scheme": scheme, "summary": spec.summary, "options": options}, f"{scheme}", "bold")
        if not output.as_json:
            output.record({}, f"  {spec.summary}")
            for option in options:
                output.record({}, _option_line(option))
    for name, reason in session.registry.broken.items():
        output.record({"broken": name, "reason": reason}, f"broken: {name}: {reason}", "red")


def _fields(options: type[object]) -> dict[str, FieldInfo]:
    if not issubclass(options, ProviderOptions):
        raise ConfigError(f"{options.__name__} is no subclass of ProviderOptions")
    shared = ProviderOptions.model_fields
    own = {name: field for name, field in options.model_fields.items() if name not in shared}
    return {**own, **{name: options.model_fields[name] for name in shared}}


def _option(name: str, field: FieldInfo) -> dict[str, object]:
    annotation = field.annotation
    kind = annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")
    return {
        "name": name,
        "type": kind.rpartition("pydantic.types.")[2] if "|" not in kind else kind.replace("pydantic.types.", ""),
        "required": field.is_required(),
        "default": _default(field),
        "description": field.description,
    }


def _default(field: FieldInfo) -> object:
    """The default where JSON can say it; secrets and objects are left out."""
    return field.default if isinstance(field.default, bool | int | float | str) else None


def _option_line(option: dict[str, object]) -> str:
    remark = "required" if option["required"] else f"default {option['default']}"
    shown = "" if not option["required"] and option["default"] is None else f", {remark}"
    described = f": {option['description']}" if option["description"] else ""
    return f"    {option['name']} ({option['type']}{shown}){described}"
