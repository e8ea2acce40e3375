"""A simulator's own configuration in the model's terms: what is taken over, what is said, what is refused."""

from pathlib import Path

import pytest
from embedded_host import run_host

from kernelpoint.errors import ConfigError
from kernelpoint.fast_model import configuration_for, shipped
from kernelpoint.fast_model.configuration import configuration_of

GPGPUSIM = """
# a GPU of our own
-gpgpu_n_clusters 6
-gpgpu_n_cores_per_cluster 2
-gpgpu_shader_core_pipeline 1024:32
-gpgpu_shader_cta 16
-gpgpu_shader_registers 32768
-gpgpu_shmem_size 49152   # bytes
-gpgpu_num_sched_per_core 2
-gpgpu_clock_domains 1000.0:1000.0:500.0:2000.0
-gpgpu_kernel_launch_latency 700
-gpgpu_cache:dl1  S:4:128:8,L:T:m:L:L,A:512:8,16:0,32
-gpgpu_l1_latency 20
-gpgpu_flush_l1_cache 1
-gpgpu_n_mem 4
-gpgpu_n_sub_partition_per_mchannel 2
-gpgpu_cache:dl2 S:32:128:16,L:B:m:L:P,A:192:4,32:0,32
-gpgpu_l2_rop_latency 100
-dram_latency 50
-gpgpu_dram_buswidth 8
-dram_data_command_freq_ratio 2
-gpgpu_dram_timing_opt "nbk=16:CCD=1:RCD=12:
                        CL=10:WL=2"
-visualizer_enabled 0
"""
TRACE = """
-trace_opcode_latency_initiation_int 4,2
-trace_opcode_latency_initiation_sp 5,1
-specialized_unit_1 1,4,4,4,4,BRA
-trace_opcode_latency_initiation_spec_op_1 7,3
-specialized_unit_3 1,4,8,4,4,TENSOR
-trace_opcode_latency_initiation_spec_op_3 9,4
"""
MACSIM = """
# Simulation Configuration
num_sim_cores 6
num_sim_small_cores 6
max_threads_per_core 32
max_block_per_core 4
num_warp_scheduler 2
schedule_ratio 4
clock_gpu 2.0
clock_llc 1.0
clock_mc 2.0
l1_small_num_set 32
l1_small_assoc 4
l1_small_line_size 128
l1_small_latency 30
num_llc 2
llc_num_set 64
llc_assoc 16
llc_line_size 128
llc_num_bank 4
llc_latency 50
dram_num_mc 2
dram_num_channel 4
dram_bus_width 8
dram_column 11
dram_activate 25
debug_mem 0
"""


@pytest.fixture
def derive(tmp_path):
    def derived(*texts: str):
        paths = []
        for number, text in enumerate(texts):
            path = tmp_path / f"{number}.config"
            path.write_text(text)
            paths.append(str(path))
        return configuration_of(paths)

    return derived


def test_an_accelsim_configuration_is_taken_over(derive):
    derived = derive(GPGPUSIM, TRACE)
    expected = {
        "sms": 12,
        "max_warps_per_sm": 32,
        "max_ctas_per_sm": 16,
        "registers_per_sm": 32768,
        "shared_memory_per_sm": 49152,
        "schedulers_per_sm": 2,
        "launch_latency": 700,
        "l1_size": 4 * 8 * 128,
        "l1_ways": 8,
        "l1_invalidate_at_launch": 1,
        "l2_size": 32 * 16 * 128 * 8,
        "l2_ways": 16,
        "l2_banks": 8,
        "l2_interval": 2,  # the L2 runs at half the cores' clock
        "dram_channels": 4,
        "dram_bytes_per_cycle": 8 * 2 * 2,  # bus width, two transfers a clock, twice the cores' clock
        "integer_interval": 2,
        "single_precision_interval": 1,
        "control_interval": 3,
        "tensor_interval": 4,
    }
    assert {key: derived.values[key] for key in expected} == expected
    assert derived.notes == []
    assert derived.simulator == "accelsim"
    # 50 cycles of L2's clock and 22 of DRAM's, in cycles of the cores.
    assert derived.values["dram_latency"] == 100 + 11


@pytest.mark.parametrize(
    "key, change",
    [
        ("control_latency", ("spec_op_1 7,3", "spec_op_1 8,3")),
        ("integer_latency", ("int 4,2", "int 5,2")),
        ("single_precision_latency", ("sp 5,1", "sp 6,1")),
        ("tensor_latency", ("spec_op_3 9,4", "spec_op_3 10,4")),
    ],
)
def test_a_latency_of_trace_config_counts_cycle_by_cycle(derive, key, change):
    assert change[0] in TRACE
    assert derive(GPGPUSIM, TRACE.replace(*change)).values[key] == derive(GPGPUSIM, TRACE).values[key] + 1


def test_a_later_file_overrides_an_earlier_one(derive):
    assert derive(GPGPUSIM, "-gpgpu_n_clusters 9\n").values["sms"] == 18
    assert derive("-gpgpu_n_clusters 9\n", GPGPUSIM).values["sms"] == 12


def test_what_a_file_leaves_open_is_as_on_the_shipped_gpu(derive):
    values, base = derive("-gpgpu_n_clusters 9\n").values, shipped("v100").values
    assert values["sms"] == 9
    assert values["l2_size"] == base["l2_size"]


def test_an_option_that_is_not_known_is_named_once(derive):
    text = GPGPUSIM + "-gpgpu_quantum_units 4\n-gpgpu_quantum_units 5\n-another 1\n"
    assert derive(text).notes == ["the fast model does not know these options: -another, -gpgpu_quantum_units"]


def test_unknown_options_are_in_one_line_which_names_eight(derive):
    options = "".join(f"-unknown_{n:02} 1\n" for n in range(30))
    (note,) = [line for line in derive(f"-gpgpu_n_clusters 8\n{options}").notes if "does not know" in line]
    assert note.endswith(", -unknown_07 and 22 more")


def test_an_option_that_changes_cycles_and_has_no_counterpart_is_named_with_its_value(derive):
    assert derive(GPGPUSIM + "-gpgpu_perfect_mem 0\n").notes == []
    (note,) = derive(GPGPUSIM + "-gpgpu_perfect_mem 1\n").notes
    assert "-gpgpu_perfect_mem 1" in note


def test_what_accelsim_prints_of_its_options_is_read_as_well(derive):
    printed = "GPGPU-Sim: Configuration options:\n\n" + GPGPUSIM.replace("\n-", "   # what it means, in words: 7\n-")
    one_line = printed.replace(":\n                        CL", ": CL").replace('"', "")
    assert derive("-x 0\n" + one_line).values == derive(GPGPUSIM).values


def test_l1_gets_what_shared_memory_leaves(derive):
    unified = "-gpgpu_adaptive_cache_config 1\n-gpgpu_unified_l1d_size 128\n-gpgpu_shmem_option 0,8,16,32,64\n"
    assert derive(GPGPUSIM + unified).values["l1_unified_size"] == 128 * 1024
    assert derive(GPGPUSIM).values["l1_unified_size"] == 0


def test_knobs_of_macsim_are_taken_over(derive):
    derived = derive(MACSIM)
    expected = {
        "sms": 6,
        "schedulers_per_sm": 2,
        "max_warps_per_sm": 32,
        "max_ctas_per_sm": 4,
        "integer_interval": 4,
        "launch_latency": 0,
        "l1_size": 32 * 4 * 128,
        "l1_ways": 4,
        "l1_latency": 30,
        "l1_invalidate_at_launch": 0,
        "l2_size": 2 * 64 * 16 * 128,
        "l2_ways": 16,
        "l2_banks": 8,
        "l2_latency": 100,  # at half the cores' clock
        "dram_channels": 8,
        "dram_latency": 36,
        "dram_bytes_per_cycle": 8,
    }
    assert {key: derived.values[key] for key in expected} == expected
    assert derived.simulator == "macsim"
    assert derived.notes == ["the fast model does not model these options: clock_llc 1.0"]


def test_options_of_macsim_are_named_only_where_the_model_has_another_value(derive):
    shipped = "num_sim_cores 16\nschedule_ratio 4\nperfect_dcache 0\nbp_dir_mech gshare\nclock_gpu 2\nclock_llc 2\n"
    assert derive(shipped + "any_other_knob 7\n").notes == []
    (note,) = derive(shipped + "schedule_ratio 2\nbp_dir_mech mine\nclock_llc 1\n").notes
    assert note == "the fast model does not model these options: schedule_ratio 2, bp_dir_mech mine, clock_llc 1"


def test_what_macsim_prints_of_its_knobs_is_read_as_well(derive):
    lines = [line.split() for line in MACSIM.splitlines() if line and not line.startswith("#")]
    printed = "".join(f"{key}   =   {value}\n" for key, value in lines)
    assert derive(printed).values == derive(MACSIM).values


@pytest.mark.parametrize("end", [":", ", ", " :,\t"])
def test_numbers_may_end_with_a_separator(derive, end):
    clocks = "-gpgpu_clock_domains 1000.0:1000.0:500.0:2000.0"
    assert derive(GPGPUSIM.replace(clocks, clocks + end)).values == derive(GPGPUSIM).values


@pytest.mark.parametrize(
    "texts, message",
    [
        (["-gpgpu_cache:dl2 S:x\n"], "0.config:1: -gpgpu_cache:dl2 is 'S:x'; allowed: kind:sets:line bytes:ways"),
        (["\n-gpgpu_clock_domains 1:2\n"], "0.config:2: -gpgpu_clock_domains is '1:2'; allowed: 4 numbers"),
        (["-gpgpu_clock_domains 1:1:0:1\n"], "allowed: clocks above 0"),
        (["-gpgpu_n_clusters many\n"], "-gpgpu_n_clusters is 'many'; allowed: a number"),
        (["-gpgpu_n_clusters nan\n"], "-gpgpu_n_clusters is 'nan'; allowed: a number"),
        (["-gpgpu_n_clusters 0\n"], "-gpgpu_n_clusters is '0'; allowed: 1 or more"),
        (["-gpgpu_cache:dl2 S:32:0:16,L\n"], "allowed: sets, bytes of a line and ways above 0"),
        (["num_sim_cores inf\n"], "num_sim_cores is 'inf'; allowed: a number"),
        (["clock_llc -1\n"], "0.config:1: clock_llc is '-1'; allowed: a clock above 0"),
        ([GPGPUSIM, MACSIM], "cannot be combined with"),
        (["# nothing\n"], "says nothing"),
        (
            ["-kernel name = sum\n-kernel id = 1\n"],
            "0.config: no option of it describes a simulated GPU (it has -kernel);",
        ),
        (
            ["-gpgpu_n_cluster 20\n"],
            "no option of it describes a simulated GPU (it has -gpgpu_n_cluster); allowed: a simul",
        ),
        (["-visualizer_enabled 0\n"], "no option of it describes a simulated GPU"),
        (
            ["some text\n"],
            "no option of it describes a simulated GPU (it has some); allowed: a simulator's configuration",
        ),
        ([""], "says nothing"),
    ],
)
def test_a_bad_configuration_is_refused_with_file_line_and_what_is_allowed(derive, texts, message):
    with pytest.raises(ConfigError) as refused:
        derive(*texts)
    assert message in str(refused.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(ConfigError, match="cannot be read"):
            configuration_of([str(path)])


def test_the_host_takes_a_simulators_configuration(tmp_path):
    (tmp_path / "gpgpusim.config").write_text(GPGPUSIM + "-gpgpu_quantum_units 4\n")
    (tmp_path / "trace.config").write_text(TRACE)
    done = run_host(Path("absent"), tmp_path, None, "-config", "gpgpusim.config", "-config", "trace.config")
    assert "does not know these options: -gpgpu_quantum_units" in done.stderr
    assert "absent" in done.stderr.splitlines()[-1]  # the configuration was taken, the list is missing


class TestConfigurationFor:
    """The choice of a run."""

    def choose(self, *arguments: str, paths=()):
        said: list[str] = []
        return configuration_for(*arguments, paths, said.append), said

    def test_the_hosts_own_statement_comes_first(self):
        chosen, said = self.choose("auto", "accelsim", GPGPUSIM, "0")
        assert chosen.values["sms"] == 12
        assert said == []

    def test_without_a_statement_the_nearest_shipped_one_is_named_in_one_line(self):
        chosen, said = self.choose("auto", "accelsim", "", "0")
        assert chosen.name == "v100"
        assert len(said) == 1
        assert "nearest shipped" in said[0]

    def test_the_embedded_host_is_predicted_with_another_gpu_than_its_own(self):
        for simulated in ("v100", "rtx"):
            chosen, said = self.choose("auto", "kernelpoint-host", "", shipped(simulated).hash)
            assert chosen.name != simulated
            assert len(said) == 1

    def test_a_named_file_or_packaged_name_wins(self, tmp_path):
        path = tmp_path / "mine.config"
        path.write_text("-gpgpu_n_clusters 9\n")
        assert self.choose(str(path), "accelsim", GPGPUSIM, "0")[0].values["sms"] == 9
        assert self.choose("rtx", "accelsim", GPGPUSIM, "0")[0].name == "rtx"

    @pytest.mark.parametrize("setting", ["on", "V100", "absent.yaml", "v100 ", "/dev/null", "."])
    def test_a_setting_that_is_none_is_refused_with_key_value_and_what_is_allowed(self, setting):
        with pytest.raises(ConfigError, match=r"fast_model: got .*; allowed: auto, off, rtx, v100, or a file") as refused:
            self.choose(setting, "accelsim", GPGPUSIM, "0")
        assert repr(setting) in str(refused.value)
