-- A dead letter of something that never was a request: a refused seed, a garbled value.
add_dead_letter(args.id, nil, args.dead_letter, args.keep)
return 1
