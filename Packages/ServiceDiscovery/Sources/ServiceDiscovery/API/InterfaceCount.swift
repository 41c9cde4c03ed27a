/// On which interfaces things are known: found once however many there are, gone with the last (what CFNetServices does).
struct InterfaceCount<Thing: Hashable & Sendable>: Sendable {
    private var interfaces: [Thing: Set<UInt32>] = [:]

    var things: Dictionary<Thing, Set<UInt32>>.Keys { interfaces.keys }

    func interfaces(of thing: Thing) -> Set<UInt32> {
        interfaces[thing] ?? []
    }

    /// True if it was not known before.
    mutating func add(_ thing: Thing, on interface: UInt32) -> Bool {
        interfaces[thing, default: []].insert(interface).inserted && interfaces[thing]?.count == 1
    }

    /// True if it is not known any more.
    mutating func remove(_ thing: Thing, on interface: UInt32) -> Bool {
        guard interfaces[thing]?.remove(interface) != nil, interfaces[thing]?.isEmpty == true else { return false }
        interfaces[thing] = nil
        return true
    }
}
