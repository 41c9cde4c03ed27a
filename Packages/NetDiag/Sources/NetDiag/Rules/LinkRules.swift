/// Interfaces, carriers, addresses.
enum LinkRules {
    /// What is wrong with this machine's links and addresses, seen by who wants to send over `families`.
    static func findings(_ network: NetworkSnapshot, families: AddressFamilies) -> [Finding] {
        let interfaces = network.interfaces.filter { !$0.isLoopback }
        if interfaces.isEmpty { return [Finding(.noInterface, .failure, .noInterface)] }
        let evidence = interfaces.map(describe)
        let on = interfaces.filter(\.isUp)
        if on.isEmpty { return [Finding(.linkOff, .failure, .linkOff(names(interfaces)), evidence: evidence)] }
        let carried = on.filter(\.hasCarrier)
        if carried.isEmpty { return [Finding(.noCarrier, .failure, .noCarrier(names(on)), evidence: evidence)] }

        let usable = carried.flatMap(\.addresses).filter { isUsable($0) && families.contains($0.address.family) }
        var findings: [Finding] = []
        for interface in carried {
            for duplicate in interface.addresses where duplicate.isDuplicate {
                findings.append(
                    Finding(
                        .duplicateAddress, usable.isEmpty ? .failure : .warning,
                        .duplicateAddress("\(duplicate.address)", interface.name), evidence: evidence))
            }
        }
        if !usable.isEmpty || findings.contains(where: { $0.severity == .failure }) { return findings }
        let linkLocal = carried.flatMap(\.addresses).filter(\.address.isLinkLocal)
        return findings + [
            linkLocal.isEmpty
                ? Finding(.noAddress, .failure, .noAddress(names(carried)), evidence: evidence)
                : Finding(
                    .linkLocalOnly, .failure,
                    .linkLocalOnly(linkLocal.map { "\($0.address)" }.joined(separator: ", ")), evidence: evidence)
        ]
    }

    /// True for an address that others beyond the link can answer to.
    private static func isUsable(_ address: InterfaceAddress) -> Bool {
        !address.isTentative && !address.isDuplicate && !address.address.isLinkLocal && !address.address.isLoopback
    }

    private static func names(_ interfaces: [NetworkInterface]) -> String {
        interfaces.map(\.name).joined(separator: ", ")
    }

    private static func describe(_ interface: NetworkInterface) -> String {
        let state = !interface.isUp ? "switched off" : interface.hasCarrier ? "has a carrier" : "no carrier"
        let addresses = interface.addresses.map {
            "\($0.address)/\($0.prefixLength)\($0.isDuplicate ? " (duplicate)" : "")"
        }
        return ([interface.name, state] + addresses).joined(separator: "  ")
    }
}
