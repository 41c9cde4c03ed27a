internal import NetKit
internal import Synchronization

/// A browser that must continue to find one honest service, whatever else is announced. It also publishes a service of its own.
final class BrowsingVictim: Sendable {
    /// The service type that is attacked.
    static let type = "_attack._tcp"
    /// The name of the honest service, which a third program publishes.
    static let honest = "Honest"
    /// The maximum average number of packets per second that the engine may send during an attack.
    private static let packetsPerSecond = 100.0

    private let engine: EmbeddedEngine
    private let type: ServiceType
    private let publisher: ServicePublisher
    private let start = ContinuousClock.now

    init() throws {
        engine = EmbeddedEngine(interfaces: ["eth0"], hostName: "victim")
        type = try ServiceType(Self.type)
        publisher = try ServicePublisher(
            ServiceAdvertisement(name: "Victim", type: type, port: 9), engine: .embedded(engine))
    }

    /// Browses for a second; the honest service must be found within the time limit.
    func browse() async throws {
        let search = try ServiceBrowser(type, engine: .embedded(engine)).start()
        defer { search.stop() }
        let start = ContinuousClock.now
        var isFound = false
        while !isFound || start.duration(to: .now) < .seconds(1) {
            let end = start + (isFound ? .seconds(1) : AttackScene.limit)
            do throws(ServiceDiscoveryError) {
                guard let change = try await search.next(until: end) else { return }
                if change.value.name == Self.honest { isFound = change.kind == .found }
            } catch {
                if isFound, error.code == .timedOut { return }
                throw error
            }
        }
    }

    /// The limits that the engine exceeded.
    var breach: String? {
        let rate = Double(engine.statistics.packetsSent) / (start.duration(to: .now) / .seconds(1))
        return rate > Self.packetsPerSecond ? "sent \(Int(rate)) packets a second" : nil
    }
}
