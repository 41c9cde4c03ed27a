/// In which places things are known, such as on interfaces: found once however many there are, gone with the last (what
/// CFNetServices does).
struct Appearances<Thing: Hashable & Sendable, Place: Hashable & Sendable>: Sendable {
    private var places: [Thing: Set<Place>] = [:]

    var things: Dictionary<Thing, Set<Place>>.Keys { places.keys }

    func places(of thing: Thing) -> Set<Place> {
        places[thing] ?? []
    }

    /// True if it was not known before.
    mutating func add(_ thing: Thing, in place: Place) -> Bool {
        places[thing, default: []].insert(place).inserted && places[thing]?.count == 1
    }

    /// True if it is not known any more.
    mutating func remove(_ thing: Thing, in place: Place) -> Bool {
        guard places[thing]?.remove(place) != nil, places[thing]?.isEmpty == true else { return false }
        places[thing] = nil
        return true
    }

    /// It is known nowhere any more.
    mutating func forget(_ thing: Thing) {
        places[thing] = nil
    }
}
