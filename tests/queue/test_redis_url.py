"""The addresses of Redis."""

import pytest

from realestate.queue.redis_url import BadRedisUrl, RedisAddress, parse_redis_url


@pytest.mark.parametrize(
    "url", ["redis://h", "redis://u:p@h:1/3", "rediss://h:1/0?ssl_ca_certs=ca.pem", "unix:///a.sock"]
)
def test_a_single_server_is_left_to_redis_py(url: str) -> None:
    assert parse_redis_url(url) == RedisAddress(kind="single", url=url)


@pytest.mark.parametrize("scheme", ["sentinel", "redis+sentinel"])
def test_sentinels_with_a_user(scheme: str) -> None:
    url = f"{scheme}://us%40er:p%3Aw@a:1,b,[::1]:3/main/2?sentinel_username=s&sentinel_password=t"
    assert parse_redis_url(url) == RedisAddress(
        kind="sentinel",
        url=url,
        hosts=(("a", 1), ("b", 26379), ("::1", 3)),
        username="us@er",
        password="p:w",
        service="main",
        database=2,
        sentinel_login={"username": "s", "password": "t"},
    )


@pytest.mark.parametrize("scheme", ["sentinels", "rediss+sentinel"])
def test_sentinels_with_tls(scheme: str) -> None:
    at = parse_redis_url(f"{scheme}://:pw@a/main?ssl_ca_certs=/ca.pem&ssl_check_hostname=no")
    assert at.tls == {"ssl": True, "ssl_ca_certs": "/ca.pem", "ssl_check_hostname": False}
    assert at.login == {"username": None, "password": "pw"}


def test_a_cluster_with_a_user_and_tls() -> None:
    at = parse_redis_url("rediss+cluster://user:pw@a:1,b:2")
    assert (at.kind, at.hosts, at.username, at.password) == ("cluster", (("a", 1), ("b", 2)), "user", "pw")
    assert at.tls == {"ssl": True}


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("localhost:6379", "must begin with"),
        ("http://:secret@h", "must begin with"),
        ("redis://:secret@h:port", "port is not a number"),
        ("redis://:secret@h:99999", "port is not a number"),
        ("redis://:secret@h/db", "database after the / is not a number"),
        ("redis://:secret@a,b", "several hosts"),
        ("redis://", "name of the host is missing"),
        ("redis://:sec[ret@h", "encode special characters"),
        ("sentinel://:secret@h:1", "name of the service is missing"),
        ("sentinel://:secret@h:1/s/x", "database after the service"),
        ("sentinel://:secret@h/s?ssl_ca_certs=x", "needs a scheme with TLS"),
        ("redis+cluster://:secret@h/3", "only database 0"),
        ("redis+cluster://:secret@h?sentinel_password=x", "no option"),
    ],
)
def test_a_bad_address_is_refused_without_showing_its_password(url: str, why: str) -> None:
    with pytest.raises(BadRedisUrl, match=why) as caught:
        parse_redis_url(url)
    assert "secret" not in str(caught.value)
