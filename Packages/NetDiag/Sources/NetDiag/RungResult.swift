/// One rung of a diagnosis: whether it works, how long its slowest check took, and the address that was checked.
public struct RungResult: Sendable, Hashable {
    /// The result of the checks of a rung.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// The rung works.
        case works
        /// The rung is broken.
        case broken
        /// The rung was not checked.
        case unchecked
    }

    /// The rung.
    public var rung: Rung
    /// The result of its checks.
    public var state: State
    /// The duration of the rung's check; of several, that of the slowest. Nil if it was not measured, as with facts from a stream's
    /// report. A TLS handshake counts for ``Rung/answer`` if the target has that rung.
    public var time: Duration?
    /// The address or addresses that were found or contacted, for display; nil if there is none.
    public var address: String?

    /// Creates a result.
    public init(rung: Rung, state: State, time: Duration? = nil, address: String? = nil) {
        self.rung = rung
        self.state = state
        self.time = time
        self.address = address
    }
}

/// The time of a rung's checks, and their address.
struct RungMeasurement: Sendable, Hashable {
    var time: Duration?
    var address: String?
}

extension LadderMachine {
    /// The rung whose time a probe measures; nil for a probe that only explains a failure.
    static func rung(of probe: Probe, _ target: DiagnosisTarget) -> Rung? {
        switch probe {
        case .environment: .link
        case .route: .route
        case .lookup: .name
        case .connect: target.proxy == nil ? .connection : .proxy
        case .ping: .gateway
        case .exchange: target.rungs.contains(.answer) ? .answer : target.rungs.contains(.security) ? .security : nil
        case .nameServer, .nonexistentName, .neighbors, .path, .packetSizes, .alternative, .inspection, .plainPage: nil
        }
    }

    /// The times and addresses of the rungs.
    var measured: [Rung: RungMeasurement] {
        var measured = times.mapValues { RungMeasurement(time: $0) }
        func set(_ address: String?, for rung: Rung) {
            guard let address, !address.isEmpty else { return }
            measured[rung, default: RungMeasurement()].address = address
        }
        if case .success(let found)? = facts.lookup {
            let shown = found.prefix(RungMeasurement.addressLimit).map(\.description).joined(separator: ", ")
            set(found.count > RungMeasurement.addressLimit ? shown + ", …" : shown, for: .name)
        }
        let first = facts.connected.map(\.description).min() ?? facts.connections.keys.map(\.description).min()
        set(first, for: target.proxy == nil ? .connection : .proxy)
        return measured
    }
}

extension RungMeasurement {
    /// The maximum number of addresses for display.
    static let addressLimit = 4
}
