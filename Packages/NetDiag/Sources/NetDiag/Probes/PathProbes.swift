internal import Glibc
@_spi(Packages) internal import StreamKit

/// Probes of the path to an address that need no privileges: pings, the routers on the path, and packet sizes.
enum PathProbes {
    /// The maximum number of routers to trace.
    static let maximumHops = 12
    /// The first port of traceroute(8): an unused range.
    static let firstPort: UInt16 = 33434

    /// Whether `address` answers an echo request.
    static func ping(_ address: IPAddress, until deadline: ContinuousClock.Instant) async -> PingOutcome {
        do throws(ProbeSocket.Failure) {
            let socket = try ProbeSocket(to: address, .echo, mark: mark())
            return try await socket.run(until: deadline) == .answered ? .answered : .silent
        } catch {
            return [EACCES, EPERM, EPROTONOSUPPORT].contains(error.number)
                ? .forbidden(text(of: error.number)) : .silent
        }
    }

    // MARK: Routers

    /// Traces the path: sends datagrams with all hop limits at the same time.
    static func path(to address: IPAddress, until deadline: ContinuousClock.Instant) async -> PathOutcome {
        await withTaskGroup(of: (Int, Result<ProbeSocket.Reaction?, ProbeSocket.Failure>).self) { group in
            for hops in 1...maximumHops {
                group.addTask { (hops, await datagram(to: address, hopLimit: hops, until: deadline)) }
            }
            var found: [Int: ProbeSocket.Reaction] = [:]
            var failure: CInt?
            for await (hops, result) in group {
                switch result {
                case .success(let reaction): if let reaction { found[hops] = reaction }
                case .failure(let error): failure = error.number
                }
                let outcome = PathOutcome(found, to: address, failure: nil)
                // Further answers would not change the outcome.
                if outcome.isComplete { group.cancelAll() }
            }
            return PathOutcome(found, to: address, failure: failure)
        }
    }

    private static func datagram(
        to address: IPAddress, hopLimit: Int, until deadline: ContinuousClock.Instant
    ) async -> Result<ProbeSocket.Reaction?, ProbeSocket.Failure> {
        do throws(ProbeSocket.Failure) {
            let kind = ProbeSocket.Kind.datagram(port: firstPort + UInt16(clamping: hopLimit))
            let socket = try ProbeSocket(to: address, kind, hopLimit: hopLimit, mark: mark())
            return .success(try await socket.run(until: deadline))
        } catch {
            return .failure(error)
        }
    }

    // MARK: Sizes

    /// The common sizes of links and tunnels, down to those that every IPv6 link and nearly every IPv4 link supports.
    static let usualSizes = [1492, 1460, 1420, 1400, 1340, 1280, 576]

    /// The time after which a packet of the full size is sent again. A host that limits the rate of its errors sends one
    /// a second at least (Linux, `icmp_ratelimit`), so that the third packet is answered within the limit of the probe.
    private static let resendInterval = Duration.milliseconds(500)

    /// Sends packets of the full size and of smaller sizes at the same time, the full size again and again: without an
    /// answer to any of them, the full size is taken for lost on the path.
    static func packetSizes(to address: IPAddress, full: Int, until deadline: ContinuousClock.Instant) async
        -> PacketSizes
    {
        // Many hosts limit the rate of errors for datagrams (RFC 1812 §4.3.2.8), but not of echo replies.
        var sizes = PacketSizes(full: full)
        let smaller = usualSizes.filter { $0 < full && (address.family == .v4 || $0 >= 1280) }
        await withTaskGroup(of: (Int, ProbeSocket.Reaction?).self) { group in
            func send(_ kind: ProbeSocket.Kind, _ size: Int) {
                let interval = size == full ? resendInterval : nil
                group.addTask {
                    (size, await sized(to: address, kind, size, until: deadline, resendingEvery: interval))
                }
            }
            for size in [full] + smaller { send(.echo, size) }
            let least = smaller.last ?? full
            for (number, size) in [full, max(least, 1280), least].enumerated() {
                send(.datagram(port: firstPort + UInt16(PathProbes.maximumHops + 1 + number)), size)
            }
            for await (size, reaction) in group {
                sizes.receive(reaction, size: size)
                if sizes.answered.contains(full) { group.cancelAll() }
            }
        }
        return sizes
    }

    private static func sized(
        to address: IPAddress, _ kind: ProbeSocket.Kind, _ size: Int, until deadline: ContinuousClock.Instant,
        resendingEvery interval: Duration?
    ) async -> ProbeSocket.Reaction? {
        guard let socket = try? ProbeSocket(to: address, kind, size: size, mark: mark()) else { return nil }
        return (try? await socket.run(until: deadline, resendingEvery: interval)) ?? nil
    }

    private static func mark() -> [UInt8] {
        (0..<ProbeSocket.markSize).map { _ in UInt8.random(in: 0 ... .max) }
    }

    private static func text(of number: CInt) -> String {
        number == EACCES || number == EPERM ? "net.ipv4.ping_group_range" : SystemCall.text(of: number)
    }
}

extension PacketSizes {
    mutating func receive(_ reaction: ProbeSocket.Reaction?, size: Int) {
        switch reaction {
        case .answered?: answered.insert(size)
        case .report(let report)?:
            switch report.kind {
            case .portUnreachable: answered.insert(size)
            case .tooLarge(let most): reportedMaximum = most ?? reportedMaximum
            case .hopLimitExceeded, .forbidden, .unreachable: break
            }
        case nil: break
        }
    }
}

extension PathOutcome {
    /// Combines the answers, by the hop limit of the packet.
    init(_ found: [Int: ProbeSocket.Reaction], to address: IPAddress, failure: CInt?) {
        for hops in found.keys.sorted() {
            switch found[hops] {
            case .answered?: isReached = true
            case .report(let report)?:
                switch report.kind {
                case .hopLimitExceeded:
                    while routers.count < hops - 1 { routers.append(nil) }
                    routers.append(report.source)
                // A router that reports this rejects the packet in place of the host.
                case .portUnreachable:
                    if report.source == address { isReached = true } else { prohibitedBy = report.source }
                case .forbidden: prohibitedBy = prohibitedBy ?? report.source
                case .unreachable: unreachableReportedBy = unreachableReportedBy ?? report.source
                case .tooLarge: break
                }
            case nil: break
            }
            if isReached || prohibitedBy != nil { break }
        }
        guard found.isEmpty, let failure else { return }
        if failure == EPERM || failure == EACCES {
            isBlockedLocally = true
        } else {
            self.failure = SystemCall.text(of: failure)
        }
    }

    /// Whether the path has ended and every router before its end has answered.
    fileprivate var isComplete: Bool {
        (isReached || prohibitedBy != nil) && !routers.contains(nil)
    }
}
