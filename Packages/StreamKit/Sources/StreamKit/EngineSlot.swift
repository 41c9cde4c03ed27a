/// The place of a connection's engine: memory that is read on each call without the exclusivity check of a class's stored
/// property.
struct EngineSlot: ~Copyable {
    private let place: UnsafeMutablePointer<Engine?>

    init() {
        place = .allocate(capacity: 1)
        place.initialize(to: nil)
    }

    deinit {
        place.deinitialize(count: 1)
        place.deallocate()
    }

    var engine: Engine? {
        @inline(__always) _read { yield place.pointee }
        nonmutating set { place.pointee = newValue }
    }
}

// Written before a half's status becomes `open` (a releasing store), or with both halves entered; read only after that
// status was seen (an acquiring load) or under the connection's lock. So no read meets a write.
extension EngineSlot: @unchecked Sendable {}
