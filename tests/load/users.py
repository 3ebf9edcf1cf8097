"""``python -m tests.load.users PLAN REPORT``: simulate a plan's users of a site, and report what they did.

Each class states its think time: the pause before it goes on. Addresses come from the pages themselves, as in a
browser; only the API's are known beforehand. Files that a browser keeps, such as stylesheets, are not requested.
"""

from __future__ import annotations

import random
import re
import sys
import time
from itertools import count, pairwise
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar, Final

from locust import HttpUser, task
from locust.env import Environment
from locust.exception import RescheduleTask

from tests.bundles import varied
from tests.load.pages import Page
from tests.load.plan import ARRIVING_A_SECOND, PASSWORD, Plan, Report

if TYPE_CHECKING:
    from requests import Response

FINISHING_SECONDS: Final = 60
"""How much longer than planned users may take to begin, and one to receive the last response once the time is over."""
POLL_SECONDS: Final = 0.2
"""The pause between two looks if users do not pause."""
LONGEST_FOLLOWING_SECONDS: Final = 600

READ: Final = {
    # Kind of page: its weight, and the addresses that belong to it.
    "board": (24, r"/board/[^/]+/(\?.*)?"),
    "answer": (14, r"/submissions/\d+/answers/[^?]+/\d+/\d+/"),
    "system": (12, r"/systems/[^/]+/"),
    "task": (10, r"/suites/[^/]+/tasks/[^?]+/\d+/"),
    "submission": (8, r"/submissions/\d+/"),
    "documentation": (8, r"/docs/[^/]+/"),
    "matrix": (6, r"/board/[^/]+/matrix/"),
    "agreement": (5, r"/agreement/[^/]+/"),
    "search": (4, r"/search/"),
    "analysis": (4, r"/analysis/[^/]+/"),
    "compare": (4, r"/compare/[^/]+/(\?.*)?"),
    "evidence": (3, r"/board/[^/]+/answers/[^/]+/[^/]+/\d+/"),
    "suite": (3, r"/suites/[^/]+/"),
    "cases": (2, r"/cases/(\d+/)?"),
    "status": (1, r"/status/"),
}
MOST_LINKS: Final = 200
"""How many addresses of a kind a reader remembers."""
WORDS: Final = ("golden", "rope", "sample", "loss", "GPT", "attention")
FINDING: Final = {"side": "candidate", "start": "1", "end": "1", "text": "Another step than the paper's."}

ANONYMOUS: Final = ""


class Simulated(HttpUser):
    """A user who thinks between two requests, and starts over after a response that was not expected, an error."""

    abstract = True
    think: ClassVar[tuple[float, float]]
    plan: ClassVar[Plan]
    report: ClassVar[Report]
    names: ClassVar[list[str]]
    """Accounts, or tokens: each user takes the next one."""
    _numbers: ClassVar[count[int]]
    _place: ClassVar[int]

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)  # type: ignore[no-untyped-call]
        self._seconds = self.think
        self.number = next(self._numbers)
        # locust replaces a user that could not begin.
        self.name = self.names[self.number % len(self.names)]
        self.chance = random.Random(f"{type(self).__name__} {self.number}")  # noqa: S311 - to be repeated
        # As a proxy sends it: with the client's address, by which limits count, on a connection of its own. A kept one
        # may be closed while the next request is sent; browsers then send it again, and this client does not.
        address = f"198.18.{self._place}.{self.number % 250 + 1}"
        self.client.headers.update({"X-Forwarded-For": address, "Connection": "close"})

    def wait_time(self) -> float:
        """Return how long to wait now. Called by locust."""
        return self.chance.uniform(*self._seconds)

    def pause(self, seconds: float = 0) -> None:
        """Think, or wait exactly ``seconds``. The user leaves meanwhile if the time is over."""
        if self.plan.once:
            time.sleep(POLL_SECONDS)
            return
        self._seconds = (seconds, seconds) if seconds else self.think
        try:
            self.wait()  # type: ignore[no-untyped-call]
        finally:
            self._seconds = self.think

    def send(self, method: str, address: str, kind: str, *expected: int, **options: Any) -> Response:
        """Send a request and return its response. Raises ``RescheduleTask`` if it is not ``expected``."""
        options["headers"] = {"Referer": f"{self.host}{address}", **options.get("headers", {})}
        # Without this, the next request would be sent on a connection that some servers close unannounced.
        self.client.close()
        with self.client.request(
            method, address, name=kind, allow_redirects=False, catch_response=True, **options
        ) as response:
            if response.status_code in (expected or (200,)):
                response.success()
                received: Response = response
                return received
            place = response.headers.get("Location", "") if response.status_code else response.error
            response.failure(f"{method} {address}: {response.status_code} {place}")
        raise RescheduleTask

    def open(self, address: str, kind: str) -> Page:
        """Request a page."""
        return Page(self.send("GET", address, kind).text)

    def submit(self, address: str, kind: str, fields: dict[str, str], **options: Any) -> str:
        """Send a form and return where the site redirects to."""
        return str(self.send("POST", address, kind, 302, data=fields, **options).headers["Location"])

    def sign_in(self) -> None:
        """Sign in with the form."""
        fields = self.open("/accounts/login/", "sign-in form").fields("/accounts/login/")
        self.submit("/accounts/login/", "sign in", {**fields, "login": self.name, "password": PASSWORD})

    def bundle(self, number: int) -> bytes:
        """Return this user's bundle with this number, which no other has."""
        mark = f"\n# {self.name[:12]}, bundle {number}, {time.time_ns()}\n"
        content = Path(self.plan.bundle).read_bytes()
        return varied(content, lambda text: text + mark, system=f"Load {self.number}", kind="ranked")


class Browsing(Simulated):
    """Reads public pages and follows their links, with an account or without."""

    think = (5, 15)

    def on_start(self) -> None:
        """Begin at the board, as visitors do."""
        self.known: dict[str, list[str]] = {kind: [] for kind in READ}
        self.known |= {"board": [f"/board/{self.plan.suite}/"], "status": ["/status/"], "cases": ["/cases/"]}
        self.known["search"] = [f"/search/?q={word}" for word in WORDS]
        if self.name != ANONYMOUS:
            self.sign_in()
        self._read("board")

    @task
    def read(self) -> None:
        """Read a page of some kind. ``once``: one of each kind that is linked anywhere."""
        linked = [kind for kind in READ if self.known[kind]]
        if self.plan.once:
            read = set[str]()
            while left := [kind for kind in READ if self.known[kind] and kind not in read]:
                self._read(left[0])
                read.add(left[0])
            return
        self._read(self.chance.choices(linked, [READ[kind][0] for kind in linked])[0])

    def _read(self, kind: str) -> None:
        page = self.open(self.chance.choice(self.known[kind]), f"page: {kind}")
        for link in [*page.links, *_comparisons(page)]:
            for other, (_, pattern) in READ.items():
                if re.fullmatch(pattern, link) and link not in self.known[other]:
                    self.known[other] = [*self.known[other], link][-MOST_LINKS:]


def _comparisons(page: Page) -> list[str]:
    """Return what a board's form would request: two neighbouring rows, which the evidence for their marks names."""
    rows: dict[str, list[str]] = {}
    for link in page.links:
        if found := re.fullmatch(r"/board/([^/]+)/answers/([^/]+)/.*", link):
            rows.setdefault(found[1], []).append(found[2])
    pairs = ((suite, pair) for suite, keys in rows.items() for pair in pairwise(dict.fromkeys(keys)))
    return [f"/compare/{suite}/?row={first}&row={second}" for suite, (first, second) in pairs]


class Uploading(Simulated):
    """Uploads a bundle by the form, waits for its check, submits it, and follows it until it is scored."""

    think = (10, 30)

    def on_start(self) -> None:
        """Sign in."""
        self._sent = count(1)
        self.sign_in()

    @task
    def upload(self) -> None:
        """Upload a bundle. Every second one is published once it is scored."""
        number = next(self._sent)
        fields = self.open("/submit/", "upload: form").fields("")
        self.pause()
        file = {"file": (f"answers-{number}.zip", self.bundle(number), "application/zip")}
        place = self.submit("/submit/", "upload: send file", fields, files=file)
        self.report.uploads.append(_number(place))
        page = self._followed(place, "upload: check")
        self.pause()
        consent = {"consent": "on", "licence": "CC-BY-4.0"} if number % 2 else {}
        place = self.submit(place, "upload: submit", {**page.fields(""), **consent})
        self.report.submissions.append(_number(place))
        self._followed(place, "submission")

    def _followed(self, address: str, kind: str) -> Page:
        """Open a page and poll as its script does, until nothing is to come, and return it."""
        page, until = self.open(address, kind), time.monotonic() + LONGEST_FOLLOWING_SECONDS
        while page.polls and time.monotonic() < until:
            self.pause(_poll_seconds(kind))
            changed = self._poll(page.polls[0], f"{kind}, progress")
            if changed is not None:
                page = changed if changed.polls or changed.links else self.open(address, kind)
        return page

    def _poll(self, address: str, kind: str) -> Page | None:
        """Return what has changed, an empty page if the page is to be loaded again, None if nothing has."""
        response = self.send("GET", address, kind, 200, 204, headers={"HX-Request": "true"})
        return Page(response.text) if response.status_code == 200 else None


class Labelling(Simulated):
    """Takes items, saves drafts while reading, and locks labels."""

    think = (10, 30)

    def on_start(self) -> None:
        """Sign in."""
        self.sign_in()

    @task
    def label(self) -> None:
        """Take an item, or go on with one that is held, label it, and go on as long as the site offers another one."""
        page = self.open("/reviews/", "label: overview")
        held = [link for link in page.links if link.startswith("/reviews/label/")]
        place = held[0] if held else self.submit("/reviews/next/", "label: take", page.fields("/reviews/next/"))
        while place.startswith("/reviews/label/"):
            place = self._label(place)

    def _label(self, place: str) -> str:
        page = self.open(place, "label: item")
        fields = page.fields("label-form")
        fields |= {"label": "CC", "confidence": "3"}
        if self.chance.random() < 0.4:
            fields |= {"label": "LI", **{f"finding-0-{name}": value for name, value in FINDING.items()}}
        for words in ("Read once.", "Read twice."):
            self.pause()
            fields["note"] = words
            saved = self.send("POST", place, "label: draft", data=fields, headers={"HX-Request": "true"})
            fields |= Page(saved.text).fields("label-form")
        self.pause()
        place_after = self.submit(place, "label: lock", {**fields, "act": "next"})
        self.report.labels.append(_number(place))
        return place_after


class Calling(Simulated):
    """Uses the API with a token: reads lists, uploads, and follows what it sent."""

    think = (5, 10)

    def on_start(self) -> None:
        """Use the token for every request."""
        self._sent = count(1)
        self.client.headers["Authorization"] = f"Bearer {self.name}"

    def _get(self, path: str, kind: str) -> Any:
        return self.send("GET", f"/api/v1{path}", f"API: {kind}").json()

    @task(6)
    def read(self) -> None:
        """Read every list about a suite, and one entry of each."""
        suite = self.plan.suite
        self._get("/suites", "suites")
        for path in ("board", "tasks", "matrix", "agreement"):
            self.pause()
            self._get(f"/suites/{suite}/{path}", path)
        for path in ("submissions", "systems"):
            self.pause()
            listed = self._get(f"/{path}", path)["items"]
            if listed:
                entry = self.chance.choice(listed)
                self.pause()
                self._get(f"/{path}/{entry['id' if path == 'submissions' else 'slug']}", f"one of {path}")

    @task(1)
    def upload(self) -> None:
        """Upload a bundle, submit it once it is checked, and follow it until it is scored."""
        number = next(self._sent)
        file = {"file": (f"answers-{number}.zip", self.bundle(number), "application/zip")}
        sent = self.send("POST", "/api/v1/uploads", "API: send file", 201, files=file).json()
        self.report.uploads.append(sent["id"])
        self._followed(f"/uploads/{sent['id']}", "an upload", "checked")
        path = f"/api/v1/uploads/{sent['id']}/submit"
        made = self.send("POST", path, "API: submit", 201, json={}).json()["submission"]
        self.report.submissions.append(made)
        self._followed(f"/submissions/{made}", "own submission", "scored")

    def _followed(self, path: str, kind: str, awaited: str) -> None:
        until = time.monotonic() + LONGEST_FOLLOWING_SECONDS
        while time.monotonic() < until:
            found = self._get(path, kind)
            if found.get("checked") or found.get("state") == awaited:
                return
            self.pause(_poll_seconds(kind))


def _poll_seconds(kind: str) -> float:
    """Return the pause of our scripts: a second for checks, two for submissions; programs wait longer."""
    return {"upload: check": 1, "submission": 2}.get(kind, 3)


def _number(place: str) -> int:
    """Return the number in an address like ``/submit/12/``."""
    return int(re.findall(r"/(\d+)/", place)[-1])


def classes_of(plan: Plan, report: Report) -> list[type[Simulated]]:
    """Return the classes of the plan's users, each with as many users as it has accounts."""
    accounts = plan.accounts
    names: dict[type[Simulated], list[str]] = {
        Browsing: [*accounts.browsing, *[ANONYMOUS] * plan.visitors],
        Uploading: accounts.uploading,
        Labelling: accounts.labelling,
        Calling: accounts.tokens,
    }
    for place, (each, given) in enumerate(names.items()):
        each.plan, each.report, each.names, each._numbers, each._place = plan, report, given, count(), place
        each.fixed_count, each.host = len(given), plan.address
    return [each for each, given in names.items() if given]


def run(plan: Plan) -> Report:
    """Simulate the plan's users and return what they did."""
    report = Report()
    classes = classes_of(plan, report)
    environment = Environment(user_classes=list(classes), host=plan.address, stop_timeout=FINISHING_SECONDS)
    arrived = Event()

    def note(name: str, response_time: float, exception: BaseException | None, **_: Any) -> None:
        requests = report.requests if arrived.is_set() else report.arriving
        requests.append((name, response_time / 1000, str(exception) if exception else ""))

    environment.events.request.add_listener(note)
    environment.events.user_error.add_listener(
        lambda exception, **_: report.errors.append(f"{type(exception).__name__}: {exception}")
    )
    if plan.once:
        arrived.set()
        _once(environment, classes)
    else:
        environment.events.spawning_complete.add_listener(lambda **_: arrived.set())
        runner = environment.create_local_runner()
        runner.start(sum(each.fixed_count for each in classes), spawn_rate=ARRIVING_A_SECOND)
        if not arrived.wait(timeout=plan.arriving_seconds + FINISHING_SECONDS):
            msg = "The simulated users could not all begin; see above."
            raise TimeoutError(msg)
        began = time.monotonic()
        time.sleep(plan.seconds)
        report.seconds = time.monotonic() - began
        runner.quit()
    return report


def _once(environment: Environment, classes: list[type[Simulated]]) -> None:
    """Do each task of each user once, one after the other."""
    for user in (each(environment) for each in classes for _ in range(each.fixed_count)):
        try:
            user.on_start()
            for each in dict.fromkeys(user.tasks):
                each(user)
        except RescheduleTask:  # the request is noted
            continue
        except Exception as error:  # noqa: BLE001 - reported, as locust does
            environment.events.user_error.fire(user_instance=user, exception=error, tb=error.__traceback__)


if __name__ == "__main__":
    run(Plan.read(Path(sys.argv[1]))).write(Path(sys.argv[2]))
