"""Settings from the environment, or an `.env` file in the folder ragviz is started from. Keys stay `SecretStr`."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from platformdirs import user_data_dir
from pydantic import BaseModel, Field, SecretStr, ValidationError, field_validator

from ragviz.core.addresses import secrets_of
from ragviz.core.errors import UsageError

TYPED = "RAGVIZ_TYPED"
"""Variable of a job's process: the variables whose values its person typed on the settings page."""


def _login() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return ""


def variables_of(file: str | None) -> dict[str, str]:
    """Return the variables that an `.env` file sets to something; none when there is no such file."""
    if file is None or not Path(file).is_file():
        return {}
    from dotenv import dotenv_values

    return {name: value for name, value in dotenv_values(file).items() if value}


def _secret_in(file: str, variable: str) -> str:
    """Return the secret in a file, without white space around it.

    A path that is not absolute is not quoted: it may be the secret itself, in the wrong variable.
    """
    named = file if Path(file).is_absolute() else "a file"
    try:
        secret = Path(file).read_text(encoding="utf-8").strip()
    except UnicodeDecodeError:
        reason = "it is no text"
    except OSError as error:
        reason = error.strerror or "refused"
    else:
        if secret:
            return secret
        reason = "it is empty"
    raise UsageError(
        f"{variable}_FILE names {named} that cannot be used ({reason}): name one that holds the secret alone and that "
        "this user may read, or unset the variable."
    )


_typed_secrets: set[str] = set()
_SECRET = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])(?![0-9a-f]+-[0-9a-f-]+$)[!#-&(-\[\]-~]{20,}")
"""What somebody types is hidden from others only where it can be nothing else: whoever types words, names, or the marks
of JSON as a key would change what others read."""


class Settings(BaseModel):
    """Addresses, keys and limits. A field is read from the variable named in its alias.

    A secret is read from the file that the variable with `_FILE` after that name names, as Docker and Kubernetes mount
    them; no other variable is read.
    """

    home: Path = Field(default_factory=lambda: Path(user_data_dir("ragviz")), alias="RAGVIZ_HOME")
    database_url: SecretStr | None = Field(default=None, alias="RAGVIZ_DATABASE_URL")
    elasticsearch_url: str | None = Field(default=None, alias="ELASTICSEARCH_URL")
    elasticsearch_api_key: SecretStr | None = Field(default=None, alias="ELASTICSEARCH_API_KEY")
    elasticsearch_user: str = Field(default="elastic", alias="ELASTICSEARCH_USER")
    elasticsearch_password: SecretStr | None = Field(default=None, alias="ELASTICSEARCH_PASSWORD")
    elasticsearch_fingerprint: str = Field(
        default="", pattern="^([0-9A-Fa-f]{2}:?){32}$|^$", alias="ELASTICSEARCH_FINGERPRINT"
    )
    elasticsearch_prefix: str = Field(
        default="ragviz-", pattern="^[a-z0-9][a-z0-9_-]{0,59}$", alias="ELASTICSEARCH_PREFIX"
    )
    openai_api_key: SecretStr | None = Field(default=None, alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(default=None, alias="OPENAI_BASE_URL")
    model: str = Field(default="gpt-4o-mini", alias="RAGVIZ_MODEL")
    judge: str = Field(default="", alias="RAGVIZ_JUDGE")
    embedder: str = Field(default="all-MiniLM-L6-v2", alias="RAGVIZ_EMBEDDER")
    model_concurrency: int = Field(default=8, ge=1, le=256, alias="RAGVIZ_MODEL_CONCURRENCY")
    model_timeout: float = Field(default=60.0, gt=0, alias="RAGVIZ_MODEL_TIMEOUT")
    ca_file: Path | None = Field(default=None, alias="RAGVIZ_CA_FILE")
    outage_minutes: float = Field(default=10.0, ge=0, alias="RAGVIZ_OUTAGE_MINUTES")
    person: str = Field(default_factory=_login, alias="RAGVIZ_PERSON")
    jobs: int | None = Field(default=None, ge=1, alias="RAGVIZ_JOBS")
    monthly_budget: float | None = Field(default=None, ge=0, alias="RAGVIZ_MONTHLY_BUDGET")
    queues: str = Field(default="embed,run", alias="RAGVIZ_QUEUES")
    max_file_mb: int = Field(default=200, ge=1, alias="RAGVIZ_MAX_FILE_MB")
    allowed_hosts: str = Field(default="", alias="RAGVIZ_ALLOWED_HOSTS")
    log: Literal["", "text", "json"] = Field(default="", alias="RAGVIZ_LOG")
    metrics: str = Field(default="", pattern=r"^(([^:\s]+|\[[0-9a-f:]+\]):)?[0-9]{1,5}$|^$", alias="RAGVIZ_METRICS")

    def __init__(self, _env_file: str | None = ".env", **values: Any) -> None:
        """Read the settings: `values`, by the names of fields or variables, then the environment, then the file.

        A variable that is empty counts as not set.

        Raises:
            UsageError: a secret and its file are both set, or the file cannot be read. The secret is never shown.

        """
        fields = type(self).model_fields
        given = {str(fields[name].alias) if name in fields else name: value for name, value in values.items()}
        configured = variables_of(_env_file) | {name: value for name, value in os.environ.items() if value}
        aliases = [str(field.alias) for field in fields.values()]
        secrets = [
            str(field.alias)
            for field in fields.values()
            if SecretStr in (field.annotation, *get_args(field.annotation))
        ]
        for variable in secrets:
            if variable not in given and (file := configured.get(f"{variable}_FILE")):
                if variable in configured:
                    raise UsageError(f"{variable} and {variable}_FILE are both set: unset one of them.")
                configured[variable] = _secret_in(file, variable)
        super().__init__(**{alias: configured[alias] for alias in aliases if alias in configured} | given)

    @field_validator("elasticsearch_url")
    @classmethod
    def _address_of_cloud_id(cls, value: str | None) -> str | None:
        """Return the address that an Elastic Cloud id names; anything else as it is."""
        if value is None or "://" in value:
            return value
        from elastic_transport.client_utils import parse_cloud_id

        try:
            found = parse_cloud_id(value).es_address
        except ValueError:
            found = None
        return f"https://{found[0]}:{found[1]}" if found else value  # anything else is refused where it is used

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys, and the passwords in addresses, in plain text, only to be removed from what is shown.

        Those that others typed in this process are among them, where they look like keys: a server may have echoed one.
        """
        database = self.database_url.get_secret_value() if self.database_url else None
        addresses = filter(None, (database, self.elasticsearch_url, self.openai_base_url))
        secrets = (self.openai_api_key, self.elasticsearch_api_key, self.elasticsearch_password)
        keys = [secret.get_secret_value() for secret in secrets if secret]
        return (*keys, *(secret for address in addresses for secret in secrets_of(address)), *_typed_secrets)

    @property
    def model_configured(self) -> bool:
        """Whether a model endpoint is configured: a key, or the address of a server that needs none."""
        return self.openai_api_key is not None or self.openai_base_url is not None


def settings(typed: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from the environment now, with those that a person `typed` on the settings page in their place.

    `typed` are values of variables, "" for the default: for these, neither the environment nor a file counts, so that a
    key there is sent to the address that was configured with it, never to one that was typed. In a job's process they
    are in the environment.

    Raises:
        UsageError: a variable has a value that cannot be used; names the variable, never shows a value.

    """
    if typed is None:
        typed = {alias: os.environ.get(alias, "") for alias in os.environ.get(TYPED, "").split(",") if alias}
    given = {
        str(field.alias): typed[str(field.alias)] or field.get_default(call_default_factory=True)
        for field in Settings.model_fields.values()
        if field.alias in typed
    }
    try:
        made = Settings(**given)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False))
        raise UsageError(f"Settings cannot be used: {wrong}. Correct the variable, or unset it.") from None
    if typed:
        _typed_secrets.update(filter(_SECRET.fullmatch, made.keys))
    return made
