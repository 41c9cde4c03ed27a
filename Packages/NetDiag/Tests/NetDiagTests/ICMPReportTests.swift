import Testing

@testable import NetDiag

/// ICMP errors as the kernel delivers them. The numbers are in native order: these tests are for 64-bit little-endian machines.
@Suite struct ICMPReportTests {
    private func control(
        level: UInt8 = 0, type: UInt8 = 11, origin: UInt8 = 2, icmp: UInt8, code: UInt8, info: UInt16 = 0,
        source: [UInt8] = [192, 0, 2, 254], isIPv6: Bool = false
    ) -> [UInt8] {
        let error: [UInt8] =
            [113, 0, 0, 0, origin, icmp, code, 0, UInt8(info & 255), UInt8(info >> 8), 0, 0, 0, 0, 0, 0]
        let address: [UInt8] = isIPv6 ? [10, 0, 0, 0, 0, 0, 0, 0] + source + [0, 0, 0, 0] : [2, 0, 0, 0] + source
        let data = error + address
        return [UInt8(16 + data.count), 0, 0, 0, 0, 0, 0, 0, level, 0, 0, 0, type, 0, 0, 0] + data
    }

    private let router = IPAddress("192.0.2.254")!

    @Test(
        arguments: [
            (11, 0, .hopLimitExceeded), (3, 3, .portUnreachable), (3, 4, .tooLarge(1300)), (3, 9, .forbidden),
            (3, 10, .forbidden), (3, 13, .forbidden), (3, 1, .unreachable), (3, 0, .unreachable),
        ] as [(UInt8, UInt8, ICMPReport.Kind)])
    func errorsOfRouters(_ type: UInt8, _ code: UInt8, _ kind: ICMPReport.Kind) {
        let report = ICMPReport(control: control(icmp: type, code: code, info: 1300))
        #expect(report == ICMPReport(kind, from: router))
    }

    @Test(
        arguments: [
            (3, 0, .hopLimitExceeded), (1, 4, .portUnreachable), (2, 0, .tooLarge(1280)), (1, 1, .forbidden),
            (1, 3, .unreachable),
        ] as [(UInt8, UInt8, ICMPReport.Kind)])
    func errorsOfIPv6Routers(_ type: UInt8, _ code: UInt8, _ kind: ICMPReport.Kind) {
        let source = IPAddress("2001:db8::fe")!
        let bytes = control(
            level: 41, type: 25, origin: 3, icmp: type, code: code, info: 1280, source: source.octets, isIPv6: true)
        #expect(ICMPReport(control: bytes) == ICMPReport(kind, from: source))
    }

    @Test func localErrorsHaveNoSource() {
        #expect(ICMPReport(control: control(origin: 1, icmp: 0, code: 0, info: 1500)) == ICMPReport(.tooLarge(1500)))
    }

    /// Other control messages may precede the report; truncated data and wrong lengths give no report.
    @Test func everyPrefixAndEveryLengthIsRead() {
        let whole = control(icmp: 11, code: 0)
        let timestamp: [UInt8] = [24, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 29, 0, 0, 0] + [UInt8](repeating: 0, count: 8)
        #expect(ICMPReport(control: timestamp + whole + [UInt8](repeating: 0, count: 100))?.kind == .hopLimitExceeded)
        for length in 0..<whole.count { #expect(ICMPReport(control: Array(whole[..<length])) == nil) }
        for byte in UInt8.min ... .max {
            var changed = whole
            changed[0] = byte
            _ = ICMPReport(control: changed)
            changed[7] = byte
            _ = ICMPReport(control: changed)
        }
        #expect(ICMPReport(control: control(icmp: 0, code: 0)) == nil)
    }

    // MARK: Combining reports

    private func report(_ kind: ICMPReport.Kind, _ source: String) -> ProbeSocket.Reaction {
        .report(ICMPReport(kind, from: IPAddress(source)))
    }

    @Test func routersInTheirOrder() {
        let host = IPAddress("198.51.100.7")!
        let path = PathOutcome(
            [
                4: report(.portUnreachable, "198.51.100.7"), 1: report(.hopLimitExceeded, "192.0.2.254"),
                3: report(.hopLimitExceeded, "203.0.113.9"), 5: report(.portUnreachable, "198.51.100.7"),
            ], to: host, failure: nil)
        #expect(path.routers == [router, nil, IPAddress("203.0.113.9")])
        #expect(path.isReached && path.prohibitedBy == nil)
    }

    @Test func aRejectionByARouterIsAProhibition() {
        let host = IPAddress("198.51.100.7")!
        for kind in [ICMPReport.Kind.portUnreachable, .forbidden] {
            let path = PathOutcome([2: report(kind, "203.0.113.9")], to: host, failure: nil)
            #expect(path.prohibitedBy == IPAddress("203.0.113.9") && !path.isReached)
        }
        #expect(PathOutcome([:], to: host, failure: 1).isBlockedLocally)
        #expect(PathOutcome([:], to: host, failure: 97).failure == "Address family not supported by protocol")
    }

    @Test func sizesThatWereAnswered() {
        var sizes = PacketSizes(full: 1500)
        sizes.receive(.answered, size: 1280)
        sizes.receive(report(.portUnreachable, "198.51.100.7"), size: 576)
        sizes.receive(report(.tooLarge(1400), "192.0.2.254"), size: 1500)
        sizes.receive(nil, size: 1492)
        #expect(sizes == PacketSizes(full: 1500, answered: [576, 1280], reportedMaximum: 1400))
    }
}
