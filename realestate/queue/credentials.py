"""Removes user names, passwords and keys from a text that is logged, shown or kept."""

import re

MASK = "***"

#: `scheme://user:password@host`: what stands before the last `@` of the host.
_IN_HOST = re.compile(r"(//)[^\s/?#\"'<>]*@")
#: A password that contains a slash: `//user:pass/word@host`. Not `//host:8080/a@b`, which has a port.
_WITH_SLASH = re.compile(r"(//)[^\s/?#@:\"'<>]*:(?!\d+[/?#])[^\s@\"'<>]{1,200}@")
#: `user:password@host` without a scheme.
_WITHOUT_SCHEME = re.compile(r"(?<![^\s\"'=(<])[^\s/@:\"'<>]{1,200}:[^\s/@\"'<>]{1,200}@")
_IN_QUERY = re.compile(
    r"([?&;](?:password|passwd|pwd|token|access_token|auth|api_?key|key|secret|signature)=)[^&\s\"'<>]+", re.IGNORECASE
)
#: A header in the JSON of a seed or in the text of a request.
_HEADER = re.compile(r"(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)[^\"'\r\n,}]+", re.IGNORECASE)


def without_credentials(text: str) -> str:
    """Return the text with `***` in place of all credentials in URLs, queries and headers."""
    if "@" in text:
        text = _IN_HOST.sub(rf"\1{MASK}@", text)
        text = _WITH_SLASH.sub(rf"\1{MASK}@", text)
        text = _WITHOUT_SCHEME.sub(f"{MASK}@", text)
    if "=" in text:
        text = _IN_QUERY.sub(rf"\1{MASK}", text)
    if "uthorization" in text or "UTHORIZATION" in text:
        text = _HEADER.sub(rf"\1{MASK}", text)
    return text
