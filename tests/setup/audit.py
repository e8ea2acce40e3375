"""Ask the registry for known weaknesses of all that `make` installs, and say how many packages it answered for.

python tests/setup/audit.py PIP_AUDIT REQUIREMENTS...      # `make audit`; exits with 0: none known, 1: some, 2: not known
"""

import json
import subprocess
import sys


def verdict(report: str) -> tuple[int, str]:
    """Exit status and lines for pip-audit's report in JSON.

    >>> verdict('{"dependencies": [{"name": "a", "version": "1", "vulns": []}]}')
    (0, '1 packages audited: no known weakness')
    >>> verdict('{"dependencies": [{"name": "a", "skip_reason": "not found"}]}')[0]
    2
    """
    packages = json.loads(report)["dependencies"]
    skipped = [package for package in packages if "skip_reason" in package]
    weak = [package for package in packages if package.get("vulns")]
    lines = [f"{each['name']} {each['version']}: {', '.join(v['id'] for v in each['vulns'])}" for each in weak]
    if len(skipped) == len(packages):
        return 2, f"none of {len(packages)} packages could be audited: the registry here has no data on weaknesses"
    if skipped:
        lines.append(f"{len(skipped)} of {len(packages)} packages could not be audited, e.g. {skipped[0]['name']}")
    if not weak:
        lines.append(f"{len(packages) - len(skipped)} packages audited: no known weakness")
    return (1 if weak else 2 if skipped else 0), "\n".join(lines)


def main(program: str, *files: str) -> int:
    named = [word for file in files for word in ("--requirement", file)]
    command = [program, "--disable-pip", "--require-hashes", "--progress-spinner", "off", "--format", "json", *named]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{"):
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        status, text = 2, f"nothing could be audited: the registry cannot be asked from here ({last})"
    else:
        status, text = verdict(done.stdout)
    print(text)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
