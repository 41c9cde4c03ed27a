internal import Foundation
internal import Glibc

/// A child process: the leader of its own process group, which ends when this process ends for whatever reason.
///
/// Two mechanisms ensure that nothing outlives the tests. First, `setpriv --pdeathsig` makes the kernel send a signal to the
/// child when its parent dies. The kernel takes the *thread* that forked as the parent, so one thread that never ends forks
/// all children: a thread of a pool may end at any time and would end its servers too. Second, a child is reaped only here,
/// after its group was killed, so that no signal can reach an unrelated process with a reused id.
final class ChildProcess: Sendable {
    /// The process id, which is also the process group id.
    let pid: pid_t
    /// Signals the end of the process.
    let end: ProcessEnd
    private let status = Guarded<Int32?>(nil)

    /// Where standard input comes from.
    enum Input: Sendable {
        case nothing
        case file(String)
        case descriptor(Int32)
    }

    /// Starts a program. Its environment consists of `environment`, a default `PATH` and locale, and the sanitizer options of this
    /// process, for programs that were built with the same sanitizer as the tests.
    init(
        _ program: Program, _ arguments: [String], environment: [String: String] = [:], folder: String? = nil,
        input: Input = .nothing, output: String, errors: String? = nil
    ) throws(PeerError) {
        let launcher = try Program("setpriv", package: "util-linux").located()
        let words = [launcher, "--pdeathsig", "TERM", "--"] + Self.chdir(folder) + [try program.located()] + arguments
        let fixed = ["PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"]
        let own = ProcessInfo.processInfo.environment
        let sanitizers = own.filter { $0.key == "ASAN_OPTIONS" || $0.key == "TSAN_OPTIONS" }
        let variables = sanitizers.merging(fixed) { $1 }.merging(environment) { $1 }.map { "\($0)=\($1)" }
        let outcome = Self.onForkingThread {
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            switch input {
            case .nothing: posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            case .file(let path): posix_spawn_file_actions_addopen(&actions, 0, path, O_RDONLY, 0)
            case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, 0)
            }
            posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o644)
            if let errors {
                posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o644)
            } else {
                posix_spawn_file_actions_adddup2(&actions, 1, 2)
            }
            // If the code under test leaks descriptors, the server must not inherit them and keep them open.
            for descriptor in Self.openDescriptors where descriptor > 2 {
                posix_spawn_file_actions_addclose(&actions, descriptor)
            }

            var attributes = posix_spawnattr_t()
            posix_spawnattr_init(&attributes)
            defer { posix_spawnattr_destroy(&attributes) }
            var signals = sigset_t()
            sigemptyset(&signals)
            posix_spawnattr_setsigmask(&attributes, &signals)
            sigfillset(&signals)
            posix_spawnattr_setsigdefault(&attributes, &signals)
            posix_spawnattr_setpgroup(&attributes, 0)
            posix_spawnattr_setflags(
                &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

            var argv = words.map { strdup($0) } + [nil]
            var envp = variables.map { strdup($0) } + [nil]
            defer { (argv + envp).forEach { free($0) } }
            var pid: pid_t = 0
            let code = posix_spawn(&pid, launcher, &actions, &attributes, &argv, &envp)
            return (pid, code)
        }
        guard outcome.code == 0 else {
            throw PeerError(.refused, "cannot start \(program.name): \(String(cString: strerror(outcome.code)))")
        }
        pid = outcome.pid
        end = ProcessEnd(of: pid)
    }

    deinit {
        stop()
    }

    /// Whether the process is running.
    var isRunning: Bool { exitStatus == nil }

    /// The exit status, 128 + the signal number if a signal ended the process, or nil while it is running.
    var exitStatus: Int32? {
        status.withLock { status in
            if status != nil { return status }
            var information = siginfo_t()
            guard waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT) == 0,
                information.si_signo == SIGCHLD
            else { return nil }
            // The leader is still a zombie, so its group id cannot be reused yet.
            Glibc.kill(-pid, SIGKILL)
            var raw: Int32 = 0
            while waitpid(pid, &raw, 0) < 0 && errno == EINTR {}
            status = raw & 0x7f == 0 ? raw >> 8 & 0xff : 128 + raw & 0x7f
            return status
        }
    }

    /// Waits for the end of the process and returns its exit status, or nil after `seconds`.
    func exited(within seconds: Double) -> Int32? {
        let limit = ContinuousClock.now + .seconds(seconds)
        while true {
            if let status = exitStatus { return status }
            if ContinuousClock.now >= limit { return nil }
            end.wait(until: limit)
        }
    }

    /// Ends the process with SIGTERM, and after two seconds with SIGKILL. Safe to call twice.
    func stop() {
        guard isRunning else { return }
        Glibc.kill(pid, SIGTERM)
        if exited(within: 2) == nil {
            Glibc.kill(pid, SIGKILL)
            _ = exited(within: 10)
        }
    }

    /// Ends the process and its whole group with SIGKILL, and waits until the process has ended. Safe to call twice.
    func kill() {
        // It has not been reaped, so no other group has its id.
        guard isRunning else { return }
        Glibc.kill(-pid, SIGKILL)
        _ = exited(within: 10)
    }

    private static func chdir(_ folder: String?) -> [String] {
        folder.map { ["env", "--chdir", $0, "--"] } ?? []
    }

    private static var openDescriptors: [Int32] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).compactMap { Int32($0) }
    }

    private typealias Outcome = (pid: pid_t, code: Int32)

    private struct Job: Sendable {
        let body: @Sendable () -> Outcome
        let outcome = Guarded<Outcome?>(nil)
    }

    /// Runs `body` on the thread that forks every child.
    private static func onForkingThread(_ body: @escaping @Sendable () -> Outcome) -> Outcome {
        let job = Job(body: body)
        jobs.withLock { $0.append(job) }
        _ = forkingThread
        return job.outcome.wait(seconds: 60) { $0 } ?? (0, EAGAIN)
    }

    private static let jobs = Guarded<[Job]>([])

    private static let forkingThread: Void = Thread.detachNewThread {
        while true {
            guard let job = jobs.wait(seconds: 3600, for: { $0.isEmpty ? nil : $0.removeFirst() }) else { continue }
            let outcome = job.body()
            job.outcome.withLock { $0 = outcome }
        }
    }
}

/// A descriptor that becomes readable when a child process has ended. It does not reap the child.
///
/// It replaces `pidfd_open`, which the C library of older systems lacks: a thread waits for the child and then closes the other
/// end of a socket pair.
final class ProcessEnd: Sendable {
    let descriptor: Int32

    init(of pid: pid_t) {
        var pair: [Int32] = [-1, -1]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair)
        descriptor = pair[0]
        Thread.detachNewThread { [other = pair[1]] in
            var information = siginfo_t()
            while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
            close(other)
        }
    }

    deinit { close(descriptor) }

    /// Blocks until the process has ended or the deadline `time` has passed.
    func wait(until time: ContinuousClock.Instant) {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&waiting, 1, time.milliseconds)
    }
}
