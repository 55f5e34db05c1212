-- Adds a dead letter for something that is not a request: a refused seed, an unreadable value.
add_dead_letter(args.id, nil, args.dead_letter, args.keep)
return 1
