# Every target does the set-up that it needs, on a machine with Python 3.10+ and a JDK 17.
# Stamp files remember what was done, so a second run repeats nothing but the tests.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# sbt and pytest would fight for the machine
.NOTPARALLEL:

python := .venv/bin/python
environment := .venv/.installed
package := .venv/.package
jar := target/jars/.default
jars := target/jars/.stamp
wheel := dist/.stamp
client := .venv-client/.installed
repository := target/repository/.stamp
repository41 := target/repository/.default

# `make publish-local` publishes to it; Spark's --packages and Maven look there first
REPOSITORY := $(HOME)/.m2/repository

# Spark lines that `make test` leaves to `make test-rows`, and those whose Spark Connect is tested there
lines := 3.5 4.0 4.2
connect_lines := $(filter-out 3.5,$(lines))
# their rows in project/SparkRow.scala; SUITES=, TESTS= and PROGRAMS= choose
rows := $(foreach line,$(lines),spark$(subst .,,$(line))) spark35on213
# rows that have every source file between them
formatted := spark41 spark35 spark40
SUITES :=
TESTS :=
# rows of `make test-formats`, `make release` and `make release-check`
ROWS :=
# every row, the default one first; `make release` takes ROWS of them, and `make release-check` spark41 by default
all_rows := spark41 $(rows)
# lines of `make test-rows-sample`; CI takes one of them, on each day the next
SAMPLE := $(lines)
# what is run of them: what calls the classes of Spark that differ between the lines, which are those of functions,
# statements, types, OPTIMIZE and scans
sample_rows := $(foreach line,$(SAMPLE),spark$(subst .,,$(line)))
sample_suites := *FunctionVectorsSuite io.sparkzorder.sql.*Suite *.OptimizeSuite *SkippingTrapsSuite *PhysicalTypesSuite
# suites of `make test-shadow`: those of filters, joins and values, whose tests do not ask where the files lie
shadow_suites := *TpcRowsSuite io.sparkzorder.skipping.predicate.*Suite io.sparkzorder.skipping.dynamic.*Suite \
  io.sparkzorder.skipping.values.*Suite *SkippingPageSuite *FunctionShapesSuite *SkippingFuzzSuite *StarFuzzSuite \
  *ValuesIndexSuite
sample_connect := tests/api/test_table_in_spark.py tests/skipping/test_show_skipping.py
sample_tests := tests/functions/test_functions.py $(sample_connect)
# two test files at a time: most of them wait for a JVM of their own
beside := --numprocesses=2 --dist=loadfile $(if $(SLOWEST),--durations=$(SLOWEST))
# pytest of an environment, with the name of its report in target/pytest
pytest = $(1) -m pytest $(beside) --junitxml=target/pytest/$(2).xml
# how many of the slowest tests are listed after a run, as in `make test SLOWEST=30`; CI sets it
SLOWEST ?=
# tests that start programs of their own, which can do so with every row
PROGRAMS := tests/formats tests/cluster $(addprefix tests/install/test_,loading.py ways_in.py \
  without_extension.py)
# `make test-slow PART=2/24` takes the second of 24 parts of the files of tests
PART ?=
# the tag of JVM tests that `make test` leaves to `make test-slow`, as pytest's marker `slow`
slow := org.scalatest.tags.Slow
environment_docs := .venv-docs/.installed

# one JVM a benchmark; another choice by `make bench-kernels jmh='-f 3 Hilbert'`
jmh := -f 1 -wi 3 -w 1s -i 5 -r 1s
kernel_results := target/kernel-benchmarks.json
index_results := target/index-benchmark.json
# `make bench-tpcds FORMATS='delta iceberg'` keeps its results and its picture apart
tpc_name := tpc$(if $(FORMATS),-formats)
tpc_results := target/bench-$(tpc_name).json
tpc_picture := docs/images/$(tpc_name).png
comma := ,
empty :=
space := $(empty) $(empty)

# what `make bench` measures
SCALE := 1
ROUNDS := 5
BENCH :=
PLANNING :=
NEEDLES :=
# of `make bench-tpcds`; a scale of 10 takes FILES=256. TPC='workloads=tpch queries=q1,q6' takes a part
FILES := 64
TPC :=
# seeds of the queries that `make bench-auto` records, and of the queries that it counts
TRAIN := 1,2
TEST := 11
# how often `make bench-auto-heldout` draws each workload
SEEDS := 5
# of `make test-tpcds`
TPC_ROWS := spark41 $(filter-out %on213,$(rows))
TPC_SCALE := 0.1

# what `make torture` does; a seed of its own for each run
KILLS := 1000
PAIRS := 100000
# rows, files, milliseconds that are added to each request, and rounds
STORE := 2000000 64 30 3
SEED := $(shell date +%s)

# JVM suites by sbt; reports of an earlier run go first
define test_rows
	rm -rf target/rows/*/target/test-reports
	PART=$(PART) build/sbt $(1)
	$(if $(SLOWEST),$(python) build/slowest $(SLOWEST) target/rows/*/target/test-reports)
endef

jvm_sources := build.sbt $(wildcard project/*.scala project/*.sbt project/build.properties) \
  $(shell find jvm/src/main -type f)
python_sources := $(shell find python/spark_zorder -name '*.py')

##@ Use

.PHONY: help
help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(package) $(jar) ## Python environment in .venv, with the package and its jar for Spark 4.1

.PHONY: demo
demo: setup ## lay out TPC-DS data three ways and measure (about 2 GB of memory)
	$(python) -m benchmarks.demo

.PHONY: demo-store
demo-store: $(environment) ## the example of docs/object-stores.md on a local S3 server (2 minutes)
	build/sbt 'fsTest/Test/runMain io.sparkzorder.filesystems.StoreDemo'

.PHONY: bench
bench: setup ## speed beside other layouts and table formats (SCALE=1 ROUNDS=5 BENCH='--cases sales-2')
	$(python) -m benchmarks.speed --scale $(SCALE) --rounds $(ROUNDS) $(BENCH)

.PHONY: bench-insert
bench-insert: setup ## what an INSERT costs in a declared order, and what queries then read (SCALE=1 ROUNDS=3)
	$(python) -m benchmarks.insert --scale $(SCALE) --rounds $(ROUNDS)
	$(python) -m benchmarks.insert.many
	$(python) -m benchmarks.insert.ten
	$(python) -m benchmarks.insert.appends

.PHONY: bench-memory
bench-memory: setup ## OPTIMIZE in 1 GB of heap: 100,000 files, and a file larger than memory (after bench)
	$(python) -m benchmarks.memory

.PHONY: bench-scale
bench-scale: setup ## OPTIMIZE of 10,000 and of 100,000 files on a cluster of two workers (half an hour)
	$(python) -m benchmarks.scale

.PHONY: bench-planning
bench-planning: setup ## what finding the files of a query costs, with the index and without (20 minutes)
	build/sbt 'set LocalProject("spark41") / Test / javaOptions -= "-XX:TieredStopAtLevel=1"' \
	  'spark41/Test/runMain io.sparkzorder.skipping.SkippingBenchmark $(index_results) 100000 1000000'
	$(python) -m benchmarks.planning --index $(index_results) $(PLANNING)

.PHONY: bench-needles
bench-needles: setup ## one row by a UUID, in 100,000 files that nothing orders by it (NEEDLES='--files 10000')
	$(python) -m benchmarks.needles $(NEEDLES)

.PHONY: bench-tpcds
bench-tpcds: setup ## all queries of TPC-DS and TPC-H beside date partitions (SCALE=1 FILES=64 ROUNDS=5 FORMATS='delta iceberg'; 2 hours)
	build/sbt 'set LocalProject("spark41") / Test / javaOptions --= Seq("-XX:TieredStopAtLevel=1", "-Xmx3g")' \
	  'set LocalProject("spark41") / Test / javaOptions += "-Xmx6g"' 'set LocalProject("spark41") / Test / envVars ~= (_ - "SPARK_TESTING")' \
	  "spark41/Test/runMain io.sparkzorder.tpc.TpcBenchmark results=$(tpc_results) \
	    data=benchmarks/data scale=$(SCALE) files=$(FILES) rounds=$(ROUNDS) $(TPC) $(if $(FORMATS),formats=$(subst $(space),$(comma),$(strip $(FORMATS))))"
	$(python) -m benchmarks.tpc $(tpc_results) --picture $(tpc_picture)

.PHONY: bench-auto
bench-auto: setup ## ZORDER BY AUTO without partitions (SCALE=1 FILES=64 TRAIN=1,2 TEST=11 TPC='workload=tpch rivals='; 1 hour)
	build/sbt 'set LocalProject("spark41") / Test / javaOptions --= Seq("-XX:TieredStopAtLevel=1", "-Xmx3g")' \
	  'set LocalProject("spark41") / Test / javaOptions += "-Xmx6g"' 'set LocalProject("spark41") / Test / envVars ~= (_ - "SPARK_TESTING")' \
	  "spark41/Test/runMain io.sparkzorder.tpc.AutoBenchmark results=target/bench-auto/results.txt \
	    data=benchmarks/data scale=$(SCALE) files=$(FILES) train=$(TRAIN) test=$(TEST) $(TPC)"
	$(python) -m benchmarks.tpc.auto target/bench-auto/results.json --picture target/bench-auto/auto.png

.PHONY: bench-auto-heldout
bench-auto-heldout: $(environment) ## ZORDER BY AUTO beside the best layout in hindsight, in nine workloads (SEEDS=5; 5 minutes)
	build/sbt 'spark41/Test/runMain io.sparkzorder.commands.auto.HeldOutBenchmark $(CURDIR)/target/heldout.md $(SEEDS)'

.PHONY: bench-publish
bench-publish: $(environment) ## what publishing up to 100,000 files in 10,000 folders takes (15 minutes)
	build/sbt 'spark41/Test/runMain io.sparkzorder.log.publish.PublishBenchmark $(CURDIR)/target/publish.md'

.PHONY: bench-bounds
bench-bounds: $(environment) ## what the bounds of Delta's and Iceberg's files cost the first query (5 minutes)
	build/sbt 'spark41/Test/runMain io.sparkzorder.sources.BoundsBenchmark $(CURDIR)/target/bounds.md'

.PHONY: bench-store
bench-store: $(environment) ## requests and seconds on a local S3 server that answers slowly (STORE='rows files delay rounds'; 5 minutes)
	build/sbt 'fsTest/Test/runMain io.sparkzorder.filesystems.StoreBenchmark $(CURDIR)/target/store.md $(STORE)'

.PHONY: bench-quality
bench-quality: $(environment) ## how near layouts are to the best that min/max allow, on full sizes
	build/sbt 'spark41/Test/runMain io.sparkzorder.quality.QualityBenchmark target/quality.json'

##@ Build

.PHONY: jars
jars: $(jars) ## the jar of every supported Spark, in target/jars and in the Python package

.PHONY: wheel
wheel: $(wheel) ## the Python wheel with all jars, in dist

.PHONY: publish-local
publish-local: $(environment) ## jars, sources, Scaladoc and POM of every row to ~/.m2 (REPOSITORY=)
	build/sbt -Dzorder.repository=$(abspath $(REPOSITORY)) publish

.PHONY: release
release: $(environment) ## wheel, bundle for Maven Central, SBOMs and checksums, in dist/release (ROWS=)
	rm -rf dist/release
	build/release dist/release $(or $(ROWS),$(all_rows))

.PHONY: docs
docs: $(environment_docs) ## the documentation as a site, in target/site
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet
	@echo "target/site/index.html; its search needs a server: python3 -m http.server -d target/site"

.PHONY: site
site: $(environment) ## the documentation with Scaladoc (4 minutes)
	build/sbt spark41/doc
	$(MAKE) docs

.PHONY: docs-pages
docs-pages: setup ## pages and pictures of the documentation that are made from code (2 minutes)
	$(python) -m docs.generate

.PHONY: experiments
experiments: setup ## Impala's experiments, repeated by OPTIMIZE and by INSERT: writes docs/experiments/*.md (10 minutes)
	$(python) -m docs.experiments
	$(python) -m docs.experiments.inserts

.PHONY: bench-kernels
bench-kernels: $(environment) ## time the kernels against their peers by JMH (about 6 minutes)
	build/sbt "kernelBench/Jmh/run $(jmh) -rf json -rff $(CURDIR)/$(kernel_results)"
	$(python) -m benchmarks.kernels.table $(kernel_results)

##@ Check

.PHONY: test
test: test-jvm test-py ## all but the slow tests, on Spark 4.1: JVM suites, then pytest

.PHONY: test-jvm
test-jvm: $(environment) ## the JVM suites
	$(call test_rows,spark41/mimaReportBinaryIssues 'spark41/testOnly -- -l $(slow)')

.PHONY: test-py
test-py: setup ## pytest: classic, then Spark Connect
	$(call pytest,$(python),classic) -m 'not slow'
	$(call pytest,$(python),connect) -m 'not slow' --mode=connect

.PHONY: test-slow
test-slow: $(wheel) setup $(client) $(repository41) ## what test leaves out: kills at each step, fuzzing, clusters, servers, table formats
	$(call test_rows,'spark41/testOnly -- -n $(slow)')
	$(call pytest,$(python),slow) -m slow $(if $(PART),--part=$(PART))

# the parts of test-rows, each a target, so that `make --keep-going test-rows` goes on after a part that fails
row_suites := $(rows:%=test-rows-%)
row_runs := $(addprefix test-rows-,$(lines))
row_clients := $(addprefix test-rows-connect-,$(connect_lines))
row_environments := setup $(lines:%=.venv-%/.installed)

.PHONY: test-rows
test-rows: $(row_suites) $(row_runs) $(row_clients) ## the JVM suites and end-to-end runs of the other rows, and every way into each

.PHONY: $(row_suites)
$(row_suites): test-rows-%: setup
	$(call test_rows,"$*/testOnly $(SUITES)")

.PHONY: $(row_runs)
$(row_runs): test-rows-%: $(jars) $(row_environments) $(client) $(repository)
	PYTHONPATH=python $(call pytest,.venv-$*/bin/python,$*-session) --mode=session $(TESTS)
	PYTHONPATH=python $(call pytest,.venv-$*/bin/python,$*-programs) $(PROGRAMS)

.PHONY: $(row_clients)
$(row_clients): test-rows-connect-%: $(jars) $(row_environments)
	PYTHONPATH=python $(call pytest,.venv-$*/bin/python,$*-connect) --mode=connect $(TESTS)

.PHONY: test-rows-sample
test-rows-sample: test-rows-sample-jvm test-rows-sample-py ## a part of test-rows (SAMPLE=3.5, as `.ci/run` runs it)

.PHONY: test-rows-sample-jvm
test-rows-sample-jvm: $(environment)
	$(call test_rows,$(foreach row,$(sample_rows),"$(row)/testOnly $(sample_suites) -- -l $(slow)"))

.PHONY: test-rows-sample-py
test-rows-sample-py: $(jars) setup $(SAMPLE:%=.venv-%/.installed)
	for line in $(SAMPLE); do \
	  PYTHONPATH=python $(call pytest,.venv-$$line/bin/python,$$line-sample) --mode=session $(sample_tests); \
	done
	for line in $(filter $(connect_lines),$(SAMPLE)); do \
	  PYTHONPATH=python $(call pytest,.venv-$$line/bin/python,$$line-sample-connect) --mode=connect $(sample_connect); \
	done

.PHONY: test-formats
test-formats: $(environment) ## the suites of Delta and Iceberg with their oldest and newest versions (ROWS= SUITES=)
	build/sbt 'testFormats $(ROWS) $(SUITES)'

.PHONY: test-fs
test-fs: $(environment) ## OPTIMIZE on HDFS, INTO on S3, both in the test's own process (not part of test)
	build/sbt fsTest/test

.PHONY: torture
torture: torture-kills torture-interleavings torture-skipping ## all three below (two hours; KILLS=1000 SEED= PAIRS=)

.PHONY: torture-kills
torture-kills: $(environment) ## kill statements before every change on disk and while they run (an hour)
	build/sbt 'spark41/Test/runMain io.sparkzorder.torture.TortureBenchmark $(KILLS) $(SEED) 120 kills'

.PHONY: torture-interleavings
torture-interleavings: $(environment) ## explore every interleaving of larger scenarios (20 minutes)
	build/sbt 'spark41/Test/runMain io.sparkzorder.torture.TortureBenchmark 0 0 0 interleavings'

.PHONY: torture-skipping
torture-skipping: $(environment) ## the skipping index against Spark alone: 100,000 queries (PAIRS= SEED=)
	build/sbt 'set LocalProject("spark41") / Test / javaOptions ++= Seq( \
	    "-Dsparkzorder.test.pairs=$(PAIRS)", "-Dsparkzorder.test.seed=$(SEED)")' \
	  'spark41/testOnly *SkippingFuzzSuite *StarFuzzSuite *DynamicFuzzSuite *ColumnFunctionsSuite *HostileFunctionsSuite'

.PHONY: test-tpcds
test-tpcds: $(environment) ## all queries of TPC-DS and TPC-H, with the index and without (TPC_ROWS= TPC_SCALE=0.1)
	build/sbt $(foreach row,$(TPC_ROWS), \
	  'set LocalProject("$(row)") / Test / javaOptions += "-Dsparkzorder.test.tpcScale=$(TPC_SCALE)"' \
	  '$(row)/testOnly *TpcRowsSuite')

.PHONY: test-shadow
test-shadow: $(environment) ## suites of skipping and TPC-DS with layouts beside the files
	build/sbt 'set LocalProject("spark41") / Test / javaOptions += "-Dsparkzorder.test.publish=shadow"' \
	  'spark41/testOnly $(shadow_suites)'

.PHONY: release-check
release-check: $(environment) ## two builds of the last commit are equal, and the README runs with the wheel (ROWS=spark41, or all)
	build/release-check $(if $(filter all,$(ROWS)),$(all_rows),$(or $(ROWS),spark41))

.PHONY: lint
lint: $(environment) ## formatting, style, types, licence headers and workflows
	build/headers
	$(python) -m ruff check
	$(python) -m ruff format --check
	$(python) -m mypy
	.venv/bin/zizmor --quiet --offline --min-severity=medium .github
	build/sbt $(formatted:=/scalafmtCheckAll) kernelBench/scalafmtCheckAll fsTest/scalafmtCheckAll scalafmtSbtCheck

.PHONY: fmt
fmt: $(environment) ## put every source file into the project's format
	$(python) -m ruff check --fix
	$(python) -m ruff format
	build/sbt $(formatted:=/scalafmtAll) kernelBench/scalafmtAll fsTest/scalafmtAll scalafmtSbt

.PHONY: headers
headers: ## write the licence header into files that lack it
	build/headers --write

.PHONY: clean
clean: ## remove what was built; environments and downloads stay
	rm -rf target project/target project/project dist python/spark_zorder/jars
	rm -rf .pytest_cache .mypy_cache .ruff_cache

# --- files ---

$(environment): requirements/dev.txt build/venv
	build/venv .venv requirements/dev.txt

.venv-%/.installed: requirements/spark-%.txt build/venv
	build/venv .venv-$* requirements/spark-$*.txt

$(client): requirements/client.txt build/venv
	build/venv .venv-client requirements/client.txt

# what `make publish-local` publishes, for the tests: of all rows, or of the default row alone
define publish
	rm -rf target/repository
	build/sbt -Dzorder.repository=$(CURDIR)/target/repository $(1)
endef

$(repository): $(environment) $(jvm_sources)
	$(call publish,publish)
	touch $(repository41) $@

$(repository41): $(environment) $(jvm_sources)
	$(call publish,spark41/publish)
	touch $@

$(environment_docs): requirements/docs.txt build/venv
	build/venv .venv-docs requirements/docs.txt

# editable: the package is read from python/, only its metadata and commands are installed
$(package): $(environment) pyproject.toml python/spark_zorder/_version.py
	build/tell "installing the package spark_zorder into .venv" \
	  $(python) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# Both rules first remove every jar: once a source has changed, each jar of any row is out of date, and
# no such jar may end up in the wheel or in a session. A row's jar is thus either current or not there.
define build_jars
	rm -rf target/jars python/spark_zorder/jars
	build/tell $(1)
	mkdir -p python/spark_zorder/jars
	cp target/jars/*.jar python/spark_zorder/jars/
endef

# the default row alone, which is all that the demonstration and most tests need
$(jar): $(environment) $(jvm_sources)
	$(call build_jars,"compiling the Spark extension for Spark 4.1" build/sbt spark41/package)
	touch $@

$(jars): $(environment) $(jvm_sources)
	$(call build_jars,"compiling the Spark extension for every supported Spark" build/sbt package)
	touch $(jar) $@

$(wheel): $(jars) pyproject.toml README.md LICENSE NOTICE $(python_sources)
	rm -rf dist
	$(python) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	  --wheel-dir dist .
	touch $@
