import pytest
from browser import find_browser, started_browser
from report_studies import told_study

from sdmbtl.report import make_page, study_data


@pytest.fixture(scope="session")
def browser():
    if find_browser() is None:
        pytest.skip("there is no browser: install Debian's chromium")
    with started_browser() as found:
        yield found


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens pages, which are closed afterwards; none of them may have complained."""
    pages = []

    def open_page(content):
        """Open an address, or the content of a page."""
        if not content.startswith("http://"):
            file = tmp_path / f"page-{len(pages)}.html"
            file.write_text(content)
            content = file.as_uri()
        pages.append(browser.open(content))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()
        assert page.complaints == []


@pytest.fixture(scope="session")
def cube(tmp_path_factory):
    """The page of a study in three dimensions, and its data."""
    study = told_study(tmp_path_factory.mktemp("studies") / "cube", policies=5)
    data = study_data(study)
    return make_page(data, made="today"), data, study
