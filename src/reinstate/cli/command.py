"""The command `reinstate`: verbs over all of it.

Results go to standard output, progress to standard error. A mistake is one line and exit status 2.
"""

import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from reinstate import devices
from reinstate.agent import AGENTS
from reinstate.baselines.optimum import OPTIMA, find_optimum, solve
from reinstate.cli.fit_choices import fit_choices_command
from reinstate.cli.options import (
    AllOptions,
    EvaluateOptions,
    ListOptions,
    OptimumOptions,
    ReproduceOptions,
    TrainOptions,
    WatchOptions,
    parse,
    peek,
    wants_help,
)
from reinstate.cli.pretrain import pretrain_command
from reinstate.cli.report import rejudge_command, report_command
from reinstate.cli.tables import as_text, print_agents, print_checks, print_experiments
from reinstate.cli.tune import tune_command
from reinstate.errors import UserError, nearest
from reinstate.evaluation import Evaluation
from reinstate.experiments import EXPERIMENTS
from reinstate.experiments.base import Experiment
from reinstate.experiments.water_maze import WATER_MAZE
from reinstate.figures import replay as watch
from reinstate.files import require_new, write_atomically, write_json
from reinstate.report.whole_paper import print_summary, reproduce_all
from reinstate.runs.progress import Reporter
from reinstate.runs.reproduce import (
    find_experiment,
    judge,
    load_state,
    open_run,
    record_of,
    reproduce,
    start_run,
)
from reinstate.runs.run import Run, write_record
from reinstate.runs.training import Stopped, train
from reinstate.settings import to_dict

HELP = """\
reinstate: meta-learning agents with an episodic memory (Ritter et al., ICML 2018)

usage: reinstate VERB …

  reproduce EXPERIMENT   train the experiment's agents, judge them with frozen weights,
                         and leave results.json and figures in --out
  reproduce all          every experiment, continued where it was interrupted, and one report
  train EXPERIMENT       train one agent (--agent), several seeds at once, into a run folder
  evaluate RUN           judge a trained run on fresh tasks, weights frozen
  watch water-maze RUN   an episode of a trained run, replayed in the terminal
  report RESULTS…        one HTML page of recorded results, or of your own runs
  rejudge RESULTS…       intervals and claims of recorded results, anew by today's rules
  tune EXPERIMENT        search hyper-parameters, many settings trained at once
  optimum EXPERIMENT     the best that is possible, exactly, with and without memory
  fit-choices FILE       which strategies explain two-step choices, of people or agents
  pretrain omniglot      the embedder of drawings, and its embeddings
  list                   the experiments, agents and presets there are

Every setting has a default from the experiment's preset (--preset quick or paper) and can be
overridden by name; `reinstate train barcode-bandits --help` explains them all.

  reinstate reproduce barcode-bandits
  reinstate train barcode-bandits --agent epl2rl --seeds 2 --out runs/five --task.num-arms 5
  reinstate evaluate runs/five --json
  reinstate fit-choices --example choices.csv && reinstate fit-choices choices.csv
"""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    verbs: dict[str, Callable[[list[str]], None]] = {
        "list": list_command,
        "train": train_command,
        "evaluate": evaluate_command,
        "reproduce": reproduce_command,
        "optimum": optimum_command,
        "watch": watch_command,
        "report": report_command,
        "rejudge": rejudge_command,
        "tune": tune_command,
        "pretrain": pretrain_command,
        "fit-choices": fit_choices_command,
    }
    try:
        if not arguments or arguments[0] in ("-h", "--help", "help"):
            print(HELP, end="")
        elif arguments[0] == "--version":
            print(version("reinstate"))
        elif arguments[0] not in verbs:
            raise UserError(nearest("verb", arguments[0], verbs))
        else:
            verbs[arguments[0]](arguments[1:])
        return 0
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (UserError, OSError) as error:
        print(f"reinstate: {error}", file=sys.stderr)
        return 2
    except (Stopped, KeyboardInterrupt) as stop:
        print(f"reinstate: {str(stop) or 'interrupted'}", file=sys.stderr)
        return 130


def list_command(arguments: list[str]) -> None:
    options = parse(ListOptions, arguments, ListOptions(), "reinstate list")
    experiments = {
        e.name: {
            "title": e.title,
            "summary": e.summary,
            "section": e.section,
            "agents": list(e.agents),
            "presets": list(e.presets),
        }
        for e in EXPERIMENTS.values()
    }
    agents = {name: wiring.summary for name, wiring in AGENTS.items()}
    if options.json:
        print(json.dumps({"experiments": experiments, "agents": agents}, indent=1))
        return
    print("experiments")
    print_experiments()
    print("agents")
    for name, summary in agents.items():
        print(f"  {name:18} {summary}")


def train_command(arguments: list[str]) -> None:
    experiment, rest = take_experiment("train", arguments)
    preset, agent = peek(rest, "--preset", "quick"), peek(rest, "--agent", "epl2rl")
    out = Path("runs") / f"{experiment.name}-{agent}"
    default = TrainOptions(experiment.preset(preset), preset, out, agent=agent)
    kind = TrainOptions[experiment.world]  # type: ignore[name-defined]
    options = parse(kind, rest, default, f"reinstate train {experiment.name}")
    devices.use_all_cores()
    run = start_run(experiment, options.agent, options.settings, options.out, options.resume)
    trained = train(options.agent, options.settings, run, Reporter(), options.checkpoint_every)
    last = trained.metrics[-1]
    if options.json:
        print(json.dumps({"run": str(options.out), "last": last}))
    else:
        mean = sum(last["reward"]) / len(last["reward"])
        print(f"{mean:.2f} reward an episode in the last epoch")
        print(f"reinstate evaluate {options.out}  judges it with frozen weights")


def evaluate_command(arguments: list[str]) -> None:
    program = "reinstate evaluate RUN"
    if wants_help(arguments):
        parse(EvaluateOptions, ["--help"], EvaluateOptions(Evaluation()), program)
    if not arguments or arguments[0].startswith("-"):
        raise UserError(f"evaluate needs a run folder first: {program}")
    path = Path(arguments[0])
    experiment, agent, settings = open_run(path)
    default = EvaluateOptions(settings.evaluation)
    options = parse(EvaluateOptions, arguments[1:], default, program)
    settings = replace(settings, evaluation=options.evaluation)
    if options.record:
        require_new(options.record, "--record")
    devices.use_all_cores()
    state = load_state(path, agent, settings, options.checkpoint)
    with Reporter().working(f"{agent}: judging with frozen weights"):
        record = record_of(agent, settings, state)
    verdict = judge(experiment, settings, record)
    write_json(Run(path).evaluation_path, verdict)
    if options.record:
        write_record(options.record, record)
    if options.json:
        print(json.dumps(verdict))
    else:
        print_agents(experiment, {agent: verdict})


def reproduce_command(arguments: list[str]) -> None:
    if arguments[:1] == ["all"]:
        reproduce_all_command(arguments)
        return
    experiment, rest = take_experiment("reproduce", arguments)
    preset = peek(rest, "--preset", "quick")
    out = Path("reproduction") / experiment.name
    default = ReproduceOptions(experiment.preset(preset), preset, out, agents=experiment.agents)
    kind = ReproduceOptions[experiment.world]  # type: ignore[name-defined]
    options = parse(kind, rest, default, f"reinstate reproduce {experiment.name}")
    if not options.agents:
        raise UserError("--agents needs at least one name; `reinstate list` has them")
    devices.use_all_cores()
    results = reproduce(
        experiment,
        options.preset,
        options.agents,
        options.settings,
        options.out,
        Reporter(),
        command=shlex.join(["reinstate", "reproduce", *arguments]),
        resume=options.resume,
        checkpoint_every=options.checkpoint_every,
    )
    if options.json:
        print(json.dumps(results))
        return
    print_agents(experiment, results["agents"])
    print_checks(results["checks"])
    seconds = results["seconds"]["total"]
    print(f"{seconds:.0f} s; results.json and training-curves.png are in {options.out}")


def reproduce_all_command(arguments: list[str]) -> None:
    default = AllOptions(tuple(EXPERIMENTS))
    options = parse(AllOptions, arguments[1:], default, "reinstate reproduce all")
    if not options.experiments:
        raise UserError("--experiments needs at least one name; `reinstate list` has them")
    devices.use_all_cores()
    summary = reproduce_all(
        options.experiments,
        options.preset,
        options.out,
        Reporter(),
        command=shlex.join(["reinstate", "reproduce", *arguments]),
        seeds=options.seeds,
    )
    if options.json:
        print(json.dumps(summary))
    else:
        print_summary(summary, options.out)


def optimum_command(arguments: list[str]) -> None:
    known = ", ".join(OPTIMA)
    if not arguments or (arguments[0].startswith("-") and not wants_help(arguments)):
        raise UserError(f"optimum needs an experiment: reinstate optimum EXPERIMENT ({known})")
    if arguments[0].startswith("-"):
        print(f"usage: reinstate optimum EXPERIMENT [OPTIONS]\n\nexperiments: {known}")
        return
    name = arguments[0]
    task = find_optimum(name).task
    default = OptimumOptions(task())
    kind = OptimumOptions[task]  # type: ignore[valid-type]
    options = parse(kind, arguments[1:], default, f"reinstate optimum {name}")
    values = solve(name, options.task)
    if options.json:
        print(json.dumps({"experiment": name, "task": to_dict(options.task), "optimum": values}))
        return
    for label, value in values.items():
        print(f"{label.replace('_', ' '):28} {as_text(value)}")


def watch_command(arguments: list[str]) -> None:
    program = "reinstate watch water-maze RUN"
    if wants_help(arguments):
        parse(WatchOptions, ["--help"], WatchOptions(), program)
    if len(arguments) < 2 or arguments[1].startswith("-"):
        raise UserError(f"watch needs an experiment and a run folder first: {program}")
    if arguments[0] != WATER_MAZE.name:
        raise UserError(nearest("replay", arguments[0], [WATER_MAZE.name]))
    options = parse(WatchOptions, arguments[2:], WatchOptions(), program)
    path = Path(arguments[1])
    experiment, agent, settings = open_run(path)
    if experiment is not WATER_MAZE:
        raise UserError(f"{path} is a run of {experiment.name}, and only water-maze has a replay")
    if options.seed not in settings.seed_range:
        raise UserError(f"{path} has the seeds {list(settings.seed_range)}, not {options.seed}")
    if options.exposure > settings.task.max_exposures:
        most = settings.task.max_exposures
        raise UserError(f"{path} shows each context {most} times: lower --exposure")
    if options.svg:
        require_new(options.svg, "--svg")
    devices.use_all_cores()
    state = load_state(path, agent, settings)
    with Reporter().working(f"{agent}: playing"):
        record = record_of(agent, settings, state)
    world, place = settings.task, settings.seed_range.index(options.seed)
    chosen = [options.exposure] if options.exposure else [1, 2]
    episodes = [
        watch.replay(world, record, place, *watch.choose(record, exposure, place))
        for exposure in chosen
    ]
    if options.svg:
        write_atomically(options.svg, watch.animated_svg(world, episodes).encode())
        print(f"{options.svg} shows exposures {', '.join(map(str, chosen))}")
        return
    for frames in episodes:
        watch.show(frames, world, Console(), options.speed)


def take_experiment(verb: str, arguments: list[str]) -> tuple[Experiment, list[str]]:
    """The experiment that comes first; help without one teaches by an example."""
    if arguments and not arguments[0].startswith("-"):
        return find_experiment(arguments[0]), arguments[1:]
    usage = f"reinstate {verb} EXPERIMENT"
    if not wants_help(arguments):
        known = ", ".join(EXPERIMENTS)
        raise UserError(f"{verb} needs an experiment first: {usage} (known: {known})")
    example = next(iter(EXPERIMENTS.values()))
    print(f"usage: {usage} [OPTIONS]\n\nexperiments")
    print_experiments()
    if verb == "reproduce":
        print(f"  {'all':18} every one of them, and one report: see reinstate reproduce all --help")
    print(f"\nEvery setting is an option. Those of {example.name}:\n")
    return example, arguments
