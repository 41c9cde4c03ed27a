/// The listings of the NSNetServices and CFNetServices Programming Guide, each written with NetKit under its number: A-3 is
/// `ServicesGuide.AppendixA.listing3`.
///
/// Delegates and callbacks have become functions that wait and sequences; what a delegate of the guide does for several methods
/// stands in one loop. `swift run listing 3-1` runs one of them.
public enum ServicesGuide {}
