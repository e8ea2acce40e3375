// Benchmarks of MGPUSim, sampled by KernelPoint.
//
//	host CONFIG BENCHMARK LAUNCHES    sampled
//	host full BENCHMARK LAUNCHES      all launches with their timing, and the sum of their cycles
//
// The benchmark runs on MGPUSim's emulator, launch after launch. For each launch of the sample there is an R9 Nano of MGPUSim's
// timing simulator of its own. It simulates the launches before, which warm its caches, and then the launch itself; before each
// of them the emulator's memory is copied to it.
//
//go:debug randseednop=0
package main

/*
#cgo LDFLAGS: -ldl
#include "session.h"
*/
import "C"

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"time"
	"unsafe"

	"github.com/sarchlab/akita/v4/mem/mem"
	"github.com/sarchlab/akita/v4/mem/vm"
	"github.com/sarchlab/akita/v4/sim"
	"github.com/sarchlab/akita/v4/simulation"
	"github.com/sarchlab/akita/v4/tracing"
	"github.com/sarchlab/mgpusim/v4/amd/arch"
	"github.com/sarchlab/mgpusim/v4/amd/benchmarks"
	"github.com/sarchlab/mgpusim/v4/amd/benchmarks/amdappsdk/floydwarshall"
	"github.com/sarchlab/mgpusim/v4/amd/benchmarks/heteromark/pagerank"
	"github.com/sarchlab/mgpusim/v4/amd/driver"
	"github.com/sarchlab/mgpusim/v4/amd/protocol"
	"github.com/sarchlab/mgpusim/v4/amd/samples/runner/emusystem"
	"github.com/sarchlab/mgpusim/v4/amd/samples/runner/timingconfig"
	"github.com/sarchlab/mgpusim/v4/amd/sampling"
)

const gpu = "R9 Nano"
const noLaunch = C.uint64_t(C.KP_NO_LAUNCH)
const runUp = 4 // launches that are simulated before each launch of the sample

// program makes a benchmark of so many launches for a platform, with the same data in each run.
func program(name string, launches int, on *driver.Driver) benchmarks.Benchmark {
	rand.Seed(1)
	switch name {
	case "floydwarshall": // of a graph with a node for each launch
		made := floydwarshall.NewBenchmark(on)
		made.Arch, made.NumNodes = arch.GCN3, uint32(launches)
		return made
	case "pagerank":
		made := pagerank.NewBenchmark(on)
		made.Arch, made.NumNodes, made.NumConnections = arch.GCN3, 16, 128
		made.MaxIterations = uint32(launches)
		return made
	}
	fmt.Fprintf(os.Stderr, "unknown benchmark %q; allowed: floydwarshall, pagerank\n", name)
	os.Exit(2)
	return nil
}

// platform is one of MGPUSim's machines, the memory it works on, and the time its launches take.
type platform struct {
	*simulation.Simulation
	driver  *driver.Driver
	storage *mem.Storage
	pages   vm.PageTable
	launch  func(*protocol.LaunchKernelReq) // called before each launch
	task    string                          // of the last launch
	begun   sim.VTimeInSec
	cycles  uint64
	context *driver.Context // of the launches of another platform
	stopped chan bool
}

func newPlatform(timing bool) *platform {
	folder, err := os.MkdirTemp("", "mgpusim")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	made := &platform{
		Simulation: simulation.MakeBuilder().WithoutMonitoring().WithOutputFileName(filepath.Join(folder, "data")).Build(),
		launch:     func(*protocol.LaunchKernelReq) {},
		stopped:    make(chan bool),
	}
	if timing {
		timingconfig.MakeBuilder().WithSimulation(made.Simulation).Build()
	} else {
		emusystem.MakeBuilder().WithSimulation(made.Simulation).WithNumGPUs(1).WithArchitecture(arch.GCN3).Build()
	}
	made.driver = made.GetComponentByName("Driver").(*driver.Driver)
	made.storage = *hidden[*mem.Storage](made.driver, "globalStorage")
	made.pages = *hidden[vm.PageTable](made.driver, "pageTable")
	made.driver.AcceptHook(made)
	made.context = made.driver.Init()
	made.driver.Run()
	go made.keepAwake()
	return made
}

// keepAwake wakes the driver and those that wait for it, every 100 ms. MGPUSim's signals between threads get lost where nobody
// waits yet, and the run would then stand still for ever.
func (p *platform) keepAwake() {
	idle := p.driver.CreateCommandQueue(p.driver.Init())
	for {
		select {
		case <-p.stopped:
			return
		case <-time.After(100 * time.Millisecond):
			p.driver.DrainCommandQueue(idle)
			for _, context := range *hidden[[]*driver.Context](p.driver, "contexts") {
				for _, queue := range *hidden[[]*driver.CommandQueue](context, "queues") {
					queue.NotifyAllSubscribers()
				}
			}
		}
	}
}

func (p *platform) stop() {
	p.stopped <- true
	p.driver.Terminate()
}

// hidden is a field of MGPUSim that has no accessor.
func hidden[T any](of any, name string) *T {
	return (*T)(unsafe.Pointer(reflect.ValueOf(of).Elem().FieldByName(name).UnsafeAddr()))
}

// Func is called where the driver hands a command to the GPU, and where the GPU has done it.
func (p *platform) Func(ctx sim.HookCtx) {
	task, _ := ctx.Item.(tracing.Task)
	if request, is := task.Detail.(*protocol.LaunchKernelReq); is {
		p.launch(request)
		p.task, p.begun = task.ID, p.GetEngine().CurrentTime()
	} else if ctx.Pos == tracing.HookPosTaskEnd && task.ID == p.task {
		p.cycles = uint64((p.GetEngine().CurrentTime()-p.begun)*1e9 + 0.5) // 1 GHz
	}
}

// copyFrom makes the memory of another platform that of this one's context.
func (p *platform) copyFrom(other *platform) {
	pid := *hidden[vm.PID](p.context, "pid")
	tables := reflect.ValueOf(other.pages).Elem().FieldByName("tables").MapRange()
	for tables.Next() {
		for _, address := range tables.Value().Elem().FieldByName("entriesTable").MapKeys() {
			page, _ := other.pages.Find(vm.PID(tables.Key().Uint()), address.Uint())
			page.PID = pid
			if _, found := p.pages.Find(pid, page.VAddr); !found {
				p.pages.Insert(page)
			}
			data, _ := other.storage.Read(page.PAddr, page.PageSize)
			p.storage.Write(page.PAddr, data)
		}
	}
}

// simulate is the cycles of a launch that another platform is about to begin.
func (p *platform) simulate(request *protocol.LaunchKernelReq, other *platform) uint64 {
	p.copyFrom(other)
	queue := p.driver.CreateCommandQueue(p.context)
	p.driver.Enqueue(queue, &driver.LaunchKernelCommand{
		ID:         sim.GetIDGenerator().Generate(),
		CodeObject: request.CodeObject,
		Packet:     request.Packet,
		DPacket:    driver.Ptr(request.PacketAddress),
	})
	p.driver.DrainCommandQueue(queue)
	return p.cycles
}

// run runs a benchmark from its start; `launch` is called before each launch.
func run(name string, launches int, timing bool, launch func(*platform, *protocol.LaunchKernelReq)) *platform {
	made := newPlatform(timing)
	made.launch = func(request *protocol.LaunchKernelReq) { launch(made, request) }
	benchmark := program(name, launches, made.driver)
	benchmark.SelectGPU([]int{1})
	benchmark.Run()
	return made
}

func full(name string, launches int) {
	var cycles []uint64
	made := run(name, launches, true, func(p *platform, _ *protocol.LaunchKernelReq) { cycles = append(cycles, p.cycles) })
	total := uint64(0)
	for launch, its := range append(cycles[1:], made.cycles) {
		fmt.Println(launch, its)
		total += its
	}
	fmt.Printf("full run: %d launches, %d cycles\n", len(cycles), total)
}

// describe tells the session each launch of the benchmark: its kernel, grid and work-group.
func describe(name string, launches int) uint64 {
	var shapes [][7]int64
	var names []*C.char
	run(name, launches, false, func(_ *platform, request *protocol.LaunchKernelReq) {
		p := request.Packet
		names = append(names, C.CString(request.CodeObject.Symbol.Name))
		shapes = append(shapes, [7]int64{
			int64(p.GridSizeX), int64(p.GridSizeY), int64(p.GridSizeZ),
			int64(p.WorkgroupSizeX), int64(p.WorkgroupSizeY), int64(p.WorkgroupSizeZ), int64(p.GroupSegmentSize),
		})
	})
	C.prepare(C.uint64_t(len(shapes)))
	for i := range shapes {
		shape := (*C.int64_t)(C.CBytes(unsafe.Slice((*byte)(unsafe.Pointer(&shapes[i])), unsafe.Sizeof(shapes[i]))))
		C.describe(C.uint64_t(i), names[i], shape, C.uint32_t(len(shapes[i])))
	}
	return uint64(len(shapes))
}

// gpus are the timing GPUs of a pass: one for each launch of the sample that is near, and the one that simulated the launch before.
type gpus struct {
	near   map[C.uint64_t]*platform
	before *platform
}

// prepare makes a GPU for each launch of the sample that is at most runUp launches ahead. False: the first of those launches is past.
func (g *gpus) prepare(index, count C.uint64_t) bool {
	for launch := index; launch < min(index+runUp+1, count); launch++ {
		if g.near[launch] != nil || C.decide(launch) != C.RESTORED {
			continue
		}
		if index != 0 && launch != index+runUp {
			return false
		}
		g.near[launch] = newPlatform(true)
	}
	return true
}

// simulate has each GPU simulate a launch that the emulator is about to begin, and hands over the result that is asked for.
func (g *gpus) simulate(index C.uint64_t, request *protocol.LaunchKernelReq, emulator *platform) {
	before := g.before
	g.before = nil
	if C.decide(index) == C.KEPT { // directly after the launch before
		g.near[index], before = before, nil
	}
	if before != nil {
		before.stop()
	}
	for launch, gpu := range g.near {
		cycles := gpu.simulate(request, emulator)
		if launch == index {
			C.complete(index, C.uint64_t(cycles))
			g.before = gpu
		}
	}
	delete(g.near, index)
}

// stop stops all of them.
func (g *gpus) stop() {
	for _, gpu := range g.near {
		gpu.stop()
	}
	if g.before != nil {
		g.before.stop()
	}
}

// pass runs the benchmark up to the last launch to simulate, and returns the launch that a new pass begins with.
func pass(name string, count C.uint64_t) C.uint64_t {
	ended := make(chan C.uint64_t)
	index := C.uint64_t(0)
	timed := gpus{near: map[C.uint64_t]*platform{}}
	go run(name, int(count), false, func(emulator *platform, request *protocol.LaunchKernelReq) {
		next := C.uint64_t(0)
		if timed.prepare(index, count) {
			timed.simulate(index, request, emulator)
			next = C.launch_after(index)
		}
		if next != index+1 {
			timed.stop()
			ended <- next
			select {} // the rest of the benchmark is not run
		}
		index = next
	})
	return <-ended
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: host CONFIG|full BENCHMARK LAUNCHES")
		os.Exit(2)
	}
	config, name := os.Args[1], os.Args[2]
	launches, err := strconv.Atoi(os.Args[3])
	if err != nil {
		panic(err)
	}
	sampling.InitSampledEngine()
	if config == "full" {
		full(name, launches)
		return
	}
	count := describe(name, launches)
	if problem := C.open_session(C.CString(config), C.CString(gpu), C.uint64_t(count)); problem != nil {
		fmt.Fprintln(os.Stderr, "kernelpoint:", C.GoString(problem))
		os.Exit(1)
	}
	for next := C.launch_after(C.KP_BEFORE_FIRST); next != noLaunch; {
		next = pass(name, C.uint64_t(count))
	}
	var cycles C.kp_estimate
	summary := C.finish(&cycles)
	fmt.Printf("%d of %d launches simulated, %.0f +- %.0f cycles\n",
		uint64(summary.simulated), count, float64(cycles.estimate), float64(cycles.half_width))
}
