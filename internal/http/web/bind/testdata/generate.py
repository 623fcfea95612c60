"""Writes pydantic.json: what pydantic answers to a table of fields and values, and fastapi.json: what FastAPI answers to
requests. The Go tests compare the binder with both files. `make pydantic` runs this with the versions named in them.
"""

import enum
import json
from typing import Annotated, Literal, Optional

import fastapi
import pydantic
from fastapi import FastAPI, File, Form, UploadFile
from fastapi.testclient import TestClient
from pydantic import BaseModel, Field, HttpUrl


class Rate(enum.IntEnum):
    a = 8000
    b = 16000
    c = 24000


class Provider(str, enum.Enum):
    a = "idp_1"
    b = "idp_2"
    c = "idp_3"
    d = "idp_4"


Model = Literal["aurora", "blizzard", "blizzard-2.0", "blizzard-2.1", "blizzard-dialogue"]

FIELDS = {
    "int": int,
    "int_gt0": Annotated[int, Field(gt=0)],
    "int_lt10": Annotated[int, Field(lt=10)],
    "int_null": Optional[int],
    "float": float,
    "speed": Annotated[float, Field(ge=0.25, le=2.0)],
    "length": Annotated[float, Field(ge=0.1, le=300.0)],
    "float_ge": Annotated[float, Field(ge=0)],
    "bool": bool,
    "bool_null": Optional[bool],
    "str": str,
    "str_null": Optional[str],
    "text": Annotated[str, Field(min_length=1, max_length=5)],
    "text2": Annotated[str, Field(min_length=2)],
    "pattern": Annotated[str, Field(pattern="^[a-z]+$")],
    "model": Model,
    "one": Literal["only"],
    "rate": Rate,
    "rate_null": Optional[Rate],
    "provider": Provider,
    "tags": list[str],
    "tags_null": Optional[list[str]],
    "url": Annotated[HttpUrl, Field(min_length=1, max_length=2083)],
}

SCALARS = [
    None, True, False, 0, 1, 2, -1, 7, 10, 8000, 11025, 0.0, 1.0, 1.5, -0.0, 2.0, 2.5, 0.25, 0.2, 8000.0, 3e2, 300.5, 1e300,
    9007199254740993, "", " ", "0", "1", "1.0", "1.", "1.00", ".5", "-.5", "1.5", " 1 ", "\t1\n", "+1", "-1", "--1", "+-1", "01", "0x1", "1_000",
    "_1", "1_", "1__0", "1e3", "1E3", "1e", "e1", "inf", "-inf", "+inf", "Infinity", "-Infinity", "nan", "NaN", "-nan", "infinit",
    "true", "True", "TRUE", "false", "yes", "Yes", "no", "on", "off", "ON", "t", "f", "y", "n", "T", "2", " true ", "true ", "10", "null", "None",
    "abc", "ABC", "a", "ab", "abcde", "abcdef", "äöüäö", "äöüäöü", "🎉🎉🎉🎉🎉", "🎉🎉🎉🎉🎉🎉", "aurora", "Aurora", "blizzard-2.0", "only",
    "8000", "8000.0", " 8000", "11025", "idp_1", "idp_9", "1,000", "1 0", "٣", "０", "1e400", "0.0", "0.5", "-0", "00", "+0.0", "1.0e0", "1.0_0", "0_1.0",
    [], [1], ["a"], ["a", 1], ["a", None, "b", {}], {}, {"a": 1},
]

URLS = [
    "http://a", "https://example.com/x?y=1#z", "http://", "https://", "http:///x", "http:/a", "http:a", "//a/b", "/a", "a", "", " ", "http", "http:", "://a",
    "ftp://a", "javascript:alert(1)", "mailto:a@b", "http://a b", "http://a:99999", "http://a:x", "http://a:", "http://a:80/", "http://[::1]/",
    "http://[::1", "http://[zz]/", "http://user:pass@host/", "http://exa mple.com", "HTTP://A", "http://ä.de/", "http://%zz/", "http://1.2.3.4.5/", "http://256.1.1.1/",
    "http://localhost:3000/callback", " http://a", "http://a ", "http://a\n", "http://a\\b", "http://xn--/", "https://" + "a" * 60 + ".com/" + "b" * 2100, "http://a..b", "http://.", "http://-a", "http://a_b", "data:,x", "file:///x", "http://@", "http://:80", "http://a?b", "http://a#b", "http://#", "http://?",
    1, None, [], True,
]


def answer(kind, value):
    model = pydantic.create_model("M", f=(FIELDS[kind], ...))
    try:
        got = model.model_validate({"f": value}).f
    except pydantic.ValidationError as error:
        items = [
            {"type": e["type"], "loc": list(e["loc"][1:]), "msg": e["msg"], **({"ctx": e["ctx"]} if "ctx" in e else {})}
            for e in error.errors(include_url=False, include_input=False)
        ]
        return {"errors": items}
    if kind == "url":
        return {"value": None}
    if isinstance(got, float):
        return {"value": repr(got)}
    return {"value": got}


lines = [
    json.dumps({"field": kind, "input": value, **answer(kind, value)})
    for kind in FIELDS
    for value in (URLS if kind == "url" else SCALARS)
]
with open("pydantic.json", "w") as out:
    out.write('{"pydantic": "%s", "cases": [\n%s\n]}\n' % (pydantic.VERSION, ",\n".join(lines)))

app = FastAPI()


@app.post("/form")
def form(id: Annotated[str, Form()], rating: Annotated[Literal["up", "down"], Form()], n: Annotated[int, Form()] = 1):
    return {}


@app.post("/upload")
def upload(text: Annotated[str, Form(min_length=2)], audio: Annotated[UploadFile, File()]):
    return {}


class Document(BaseModel):
    text: str
    model: Literal["a", "b"] = "a"
    tags: Annotated[list[Annotated[str, Field(min_length=1, max_length=3)]], Field(max_length=2)] = []
    n: Optional[int] = None


@app.post("/json")
def document(body: Document):
    return {}


@app.get("/query")
def query(code: str, state: str, provider: Provider, page: Annotated[int, Field(gt=0)] = 1):
    return {}


URLENCODED, MULTIPART, JSON = "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "application/json"


def parts(*all):
    return "".join("--b\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n" % part for part in all) + "--b--\r\n"


REQUESTS = (
    [("form", None, "")]
    + [("form", URLENCODED, body) for body in ("", "id=", "id=x", "id=x&rating=up", "rating=left", "id=x&rating=up&n=a", "n=1.5", "id=x&id=&rating=up", "colour=red")]
    + [("form", MULTIPART, body) for body in ("", parts(), parts(('name="id"', "x")), parts(('name="id"', ""), ('name="rating"', "up")), "nonsense")]
    + [("form", "multipart/form-data", "")]
    + [("upload", kind, "") for kind in (None, URLENCODED, MULTIPART)]
    + [("upload", URLENCODED, "text=a&audio=b")]
    + [("upload", MULTIPART, body) for body in (parts(), parts(('name="text"', "hi")), parts(('name="text"', "h"), ('name="audio"', "x")), parts(('name="text"', "hi"), ('name="audio"; filename="a.wav"', "x")))]
    + [("json", JSON, body) for body in (
        "", "null", "{}", "[]", "1", '{"text":', '{"text":null}', '{"text":1}', '{"text":"a","n":null}', '{"text":"a","n":"x"}', '{"text":"a","model":"c","tags":["a",1,"long"]}',
        '{"text":"a","tags":["a","b"]}', '{"text":"a","tags":["a","b","c"]}', '{"text":"a","tags":["","b","long"]}', '{"text":"a","tags":"a"}', '{"text":"a","colour":"red"}',
    )]
    + [("json", "application/octet-stream", '{"text":"a"}')]
    + [("query", None, text) for text in ("", "code=a", "state=a", "code=&state=&provider=", "code=a&state=b&provider=idp_1", "code=a&state=b&provider=idp_1&page=0", "page=x", "code=a&state=b&provider=idp_1&page=1&page=0")]
)


def ask(route, kind, body):
    client = TestClient(app)
    if route == "query":
        response = client.get("/query?" + body)
    else:
        response = client.post("/" + route, content=body, headers={"content-type": kind} if kind else {})
    answer = {"status": response.status_code}
    if response.status_code == 422:
        answer["errors"] = [{key: e[key] for key in ("type", "loc", "msg", "ctx") if key in e} for e in response.json()["detail"]]
    elif response.status_code != 200:
        answer["detail"] = response.json()["detail"]
    return {"route": route, "content_type": kind or "", "body": body, **answer}


lines = [json.dumps(ask(*request)) for request in REQUESTS]
with open("fastapi.json", "w") as out:
    out.write('{"fastapi": "%s", "cases": [\n%s\n]}\n' % (fastapi.__version__, ",\n".join(lines)))
