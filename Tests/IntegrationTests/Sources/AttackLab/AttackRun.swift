internal import Foundation
internal import NetKit
internal import Peers
internal import Synchronization

/// One run of one attack on a victim in this process, which should do nothing else.
public struct AttackRun: Sendable {
    private let attack: Attack
    private let seconds: Double
    private let bytes: Int

    /// - Parameters:
    ///   - seconds: the duration of the attack.
    ///   - bytes: the maximum number of bytes that one hostile connection sends; 0 for no limit. With a limit, the attack takes
    ///     place once.
    public init(_ attack: Attack, seconds: Double, bytes: Int) {
        (self.attack, self.seconds, self.bytes) = (attack, seconds, bytes)
    }

    /// Runs and measures the attack.
    public func measured() async throws -> AttackMeasurement {
        let authority = attack.isSecure ? try CertificateAuthority.shared() : nil
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("attack-\(getpid())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        if let descriptors = attack.descriptors {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = rlim_t(descriptors)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        let identity = authority?.server(.good)
        let scene = AttackScene(ports: [], root: authority?.root ?? "", folder: folder)
        return switch attack.victim {
        case .client(let operation): try await onClient(operation, scene, identity)
        case .server(let isSecure): try await onServer(isSecure, scene, identity)
        case .browser: try await onBrowser(scene)
        }
    }

    // MARK: Victims

    private func onClient(
        _ operation: @escaping Attack.Operation, _ scene: AttackScene, _ identity: Identity?
    ) async throws -> AttackMeasurement {
        let honest = try await HostileProcess(.script, mode: "honest", bytes: 0)
        var scene = scene
        var peer: HostileProcess?
        if attack.program != .none {
            peer = try await HostileProcess(attack.program, mode: attack.mode, bytes: bytes, identity: identity)
        }
        scene.ports = peer?.ports ?? []
        let load = HonestLoad(try url("http", honest.ports[0]), tls: nil, isSmall: bytes > 0)
        defer { _ = honest.stop() }
        return try await measured(beside: load) { [scene] measurement in
            try await repeated(operation, scene, &measurement)
            measurement.breaches.formUnion(peer?.stop().leaks ?? [])
        }
    }

    private func onServer(
        _ isSecure: Bool, _ scene: AttackScene, _ identity: Identity?
    ) async throws -> AttackMeasurement {
        var configuration = HTTPServer.Configuration()
        configuration.headTimeout = AttackScene.limit
        configuration.idleTimeout = AttackScene.limit
        configuration.bodyTimeout = AttackScene.limit
        configuration.writeTimeout = AttackScene.limit
        configuration.connections.handshakeTimeout = AttackScene.limit
        configuration.acceptsPriorKnowledge = !isSecure
        if isSecure, let identity {
            configuration.connections.tls = TLSConfiguration(
                server: try TLSIdentity(file: identity.chain, keyFile: identity.key))
        }
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let site = try AttackedSite(folder: scene.folder)
        let running = Task { try await server.run(site.respond) }
        defer { running.cancel() }
        let port = Int(server.port ?? 0)
        let load = HonestLoad(
            try url(isSecure ? "https" : "http", port), tls: isSecure ? scene.tls() : nil, isSmall: bytes > 0)
        let measurement = try await measured(beside: load) { measurement in
            let peer = try await HostileProcess(attack.program, mode: attack.mode, bytes: bytes, victim: port)
            if bytes > 0 {
                if await !peer.isDone() { measurement.breaches.insert("the server did not end the connections") }
            } else {
                // Leave enough time to detect a connection that exceeds the limit.
                try await Task.sleep(for: max(.seconds(seconds), AttackScene.limit * 2))
            }
            let (leaks, longest) = peer.stop()
            measurement.breaches.formUnion(leaks)
            measurement.slowest = longest
        }
        server.stop(within: .zero)
        return measurement
    }

    private func onBrowser(_ scene: AttackScene) async throws -> AttackMeasurement {
        let honest = try await HostileProcess(.script, mode: "honest", bytes: 0)
        let load = HonestLoad(try url("http", honest.ports[0]), tls: nil, isSmall: bytes > 0)
        defer { _ = honest.stop() }
        let victim = try BrowsingVictim()
        return try await measured(beside: load) { measurement in
            try await repeated({ _ in try await victim.browse() }, scene, &measurement)
            if let breach = victim.breach { measurement.breaches.insert(breach) }
        }
    }

    private func url(_ scheme: String, _ port: Int) throws -> URL {
        guard let url = URL(string: "\(scheme)://localhost:\(port)/honest") else { throw Breach(description: "no URL") }
        return url
    }

    // MARK: Measuring

    /// Measures the loop, the memory and the honest load while `body` runs.
    private func measured(
        beside load: HonestLoad, _ body: (inout AttackMeasurement) async throws -> Void
    ) async throws -> AttackMeasurement {
        // The allocations of the first use of the library do not belong to the attack.
        for _ in 0..<3 { try await load.request() }
        var measurement = AttackMeasurement()
        let memory = ProcessMemory()
        let probe = LoopProbe(.shared)
        EventLoop.shared.resetLateness()
        let honest = Task(executorPreference: EventLoop.shared) { await load.run() }
        let result = await Result { try await body(&measurement) }
        await probe.stop()
        measurement.lateness = EventLoop.shared.lateness.worst / .milliseconds(1)
        measurement.growth = memory.growth
        load.stop()
        await honest.value
        (measurement.honestRequests, measurement.honestFailure) = load.outcome
        try result.get()
        return measurement
    }

    /// Repeats a client's operation until the end of the run; only once if the peer's bytes are limited.
    private func repeated(
        _ operation: @escaping Attack.Operation, _ scene: AttackScene, _ measurement: inout AttackMeasurement
    ) async throws {
        let end = ContinuousClock.now + .seconds(seconds)
        repeat {
            let start = ContinuousClock.now
            let failure = await withNetworkExecutor { await Self.failure(of: operation, scene) }
            measurement.slowest = max(measurement.slowest, start.duration(to: .now) / .seconds(1))
            measurement.operations += 1
            let text = failure.map { String("\($0)".prefix(100)) } ?? "success"
            // Messages may contain ports and counts; a few are enough to see the results.
            if measurement.endings.count < 20 || measurement.endings[text] != nil {
                measurement.endings[text, default: 0] += 1
            }
            if let breach = failure as? Breach { measurement.breaches.insert(breach.description) }
            if attack.ending == .success, let failure { measurement.breaches.insert("failed: \(failure)") }
            if attack.ending == .failure, failure == nil {
                measurement.breaches.insert("the attack was accepted as a valid response")
            }
        } while bytes == 0 && ContinuousClock.now < end
    }
}

extension AttackRun {
    @concurrent private static func failure(of operation: Attack.Operation, _ scene: AttackScene) async -> (any Error)?
    {
        do {
            try await operation(scene)
            return nil
        } catch {
            return error
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}

/// A timer that fires every 5 ms, so that the loop's lateness is measured whatever else waits on it.
private final class LoopProbe: Sendable {
    private let loop: EventLoop
    private let isOver = Atomic<Bool>(false)

    init(_ loop: EventLoop) {
        self.loop = loop
        next()
    }

    private func next() {
        if isOver.load(ordering: .relaxed) { return }
        loop.schedule(at: .now + .milliseconds(5)) { [self] in next() }
    }

    /// Stops the probe, and waits for a last timer: an overdue timer counts once it has fired.
    func stop() async {
        isOver.store(true, ordering: .relaxed)
        await withCheckedContinuation { continuation in
            loop.schedule(at: .now) { continuation.resume() }
        }
    }
}

/// The peak of this process's resident memory since the value was made.
private struct ProcessMemory {
    private let start: Int

    init() {
        try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
        start = Self.peak
    }

    /// The growth of the peak since the beginning, in bytes.
    var growth: Int { max(0, Self.peak - start) }

    private static var peak: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
    }
}
