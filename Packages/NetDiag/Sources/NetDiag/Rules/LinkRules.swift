/// Findings about interfaces, carriers and addresses.
enum LinkRules {
    /// The faults of this machine's links and addresses that concern sending to `host` over `families`.
    static func findings(
        _ network: NetworkSnapshot, families: AddressFamilies, host: String? = nil, expiredLeases: [DHCPLease] = []
    ) -> [Finding] {
        let interfaces = network.interfaces.filter { !$0.isLoopback }
        if interfaces.isEmpty { return [Finding(.noInterface, .failure, .noInterface)] }
        let evidence = interfaces.map(describe)
        let up = interfaces.filter(\.isUp)
        if up.isEmpty { return [Finding(.linkOff, .failure, .linkOff(names(interfaces)), evidence: evidence)] }
        let connected = up.filter(\.hasCarrier)
        if connected.isEmpty { return [Finding(.noCarrier, .failure, .noCarrier(names(up)), evidence: evidence)] }

        let everyUsable = connected.flatMap(\.addresses).filter(isUsable)
        let usable = everyUsable.filter { families.contains($0.address.family) }
        var findings = overdueLeases(usable, evidence)
        for interface in connected {
            for duplicate in interface.addresses
            where duplicate.isDuplicate && families.contains(duplicate.address.family) {
                findings.append(
                    Finding(
                        .duplicateAddress, usable.isEmpty ? .failure : .warning,
                        .duplicateAddress("\(duplicate.address)", interface.name), evidence: evidence))
            }
        }
        if !usable.isEmpty || findings.contains(where: { $0.severity == .failure }) { return findings }
        if let host, let other = everyUsable.first {
            let (here, there) = other.address.family == .v4 ? ("IPv4", "IPv6") : ("IPv6", "IPv4")
            return findings + [
                Finding(
                    .familyMissing, .failure, .familyMissing(PublicText.of(host), there, here), evidence: evidence)
            ]
        }
        if let lease = expiredLeases.first(where: { lease in connected.contains { $0.name == lease.interface } }) {
            let sentence = Sentence.leaseExpired(
                "\(lease.address)", lease.interface, HTTPClock.text(lease.expiry))
            return findings + [Finding(.leaseExpired, .failure, sentence, evidence: evidence)]
        }
        let linkLocal = connected.flatMap(\.addresses).filter(\.address.isLinkLocal)
        return findings + [
            linkLocal.isEmpty
                ? Finding(.noAddress, .failure, .noAddress(names(connected)), evidence: evidence)
                : Finding(
                    .linkLocalOnly, .failure,
                    .linkLocalOnly(linkLocal.map { "\($0.address)" }.joined(separator: ", ")), evidence: evidence)
        ]
    }

    /// Whether this machine has an address of the family that is valid beyond its link.
    static func hasAddress(_ network: NetworkSnapshot, _ family: AddressFamilies) -> Bool {
        network.interfaces.contains { interface in
            interface.isUp && interface.hasCarrier && !interface.isLoopback
                && interface.addresses.contains { isUsable($0) && family.contains($0.address.family) }
        }
    }

    /// The addresses whose lease was not renewed in time, unless another address of their family remains.
    private static func overdueLeases(_ usable: [InterfaceAddress], _ evidence: [String]) -> [Finding] {
        usable.filter { address in
            guard !address.isTemporary, address.lease?.isOverdue == true else { return false }
            return !usable.contains { $0.address.family == address.address.family && $0.lease?.isOverdue != true }
        }.map { address in
            let seconds = address.lease?.remaining.components.seconds ?? 0
            return Finding(
                .leaseOverdue, .warning, .leaseOverdue("\(address.address)", "\(seconds)"), evidence: evidence)
        }
    }

    /// Whether hosts beyond the link can answer to the address.
    private static func isUsable(_ address: InterfaceAddress) -> Bool {
        !address.isTentative && !address.isDuplicate && !address.address.isLinkLocal && !address.address.isLoopback
    }

    private static func names(_ interfaces: [NetworkInterface]) -> String {
        interfaces.map(\.name).joined(separator: ", ")
    }

    private static func describe(_ interface: NetworkInterface) -> String {
        let state = !interface.isUp ? "down" : interface.hasCarrier ? "connected" : "no carrier"
        let addresses = interface.addresses.map { address in
            let lease = address.lease.map { " (lease: \($0.remaining.components.seconds) s left)" } ?? ""
            return "\(address.address)/\(address.prefixLength)\(address.isDuplicate ? " (duplicate)" : "")\(lease)"
        }
        return ([interface.name, state] + addresses).joined(separator: "  ")
    }
}
