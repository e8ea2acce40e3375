"""A simulated host behind a trace list that holds some launches of a census."""

YAML = "policy: kernelpoint\nselection: {path}\nerror_budget: {{relative_error: {eps}}}"


def ctas_of(launch):
    """CTAs of a launch of the census, see conftest.py."""
    return (64 + (launch >= 200), 8, 16, 4)[launch % 4]


class Listed:
    """The simulated host behind a list that holds some of its launches: it counts the list, as simulators do."""

    def __init__(self, host, launches):
        self.host, self.launches = host, launches

    def run(self, session):
        def complete(session, place):
            launch = int(self.launches[place])
            self.host.simulated.append(launch)
            ctas = float(ctas_of(launch))
            session.on_complete(0, place, False, int(self.host.cycles[launch]), 10, ("ctas",), (ctas,))

        return self.host.run(session, complete)

    def open(self, path, listed, eps=0.05, more="", **info):
        yaml = YAML.format(path=path, eps=eps) + more
        return self.host.open(yaml, launch_counts=[len(self.launches)], list_paths=[str(listed)], **info)
