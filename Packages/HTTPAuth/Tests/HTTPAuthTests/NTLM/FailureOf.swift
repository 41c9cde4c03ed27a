import HTTPAuth

/// Returns the error of this package that `body` throws; otherwise nil.
func failure(of body: () throws -> Void) -> HTTPAuthError? {
    do {
        try body()
        return nil
    } catch {
        return error as? HTTPAuthError
    }
}
